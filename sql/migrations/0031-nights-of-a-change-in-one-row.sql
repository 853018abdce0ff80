-- What a version of a reservation changes of nights, in one row (docs/decisions/0033), where entries are a row for each run of nights
-- that is taken off the books or put there. An entry is still made of what does not fit, of shared rooms, on Citus, and while a version
-- that knows nothing else may start.
set local search_path = bellhop_state;

create table night_exchange (
  source_time timestamptz not null,
  received_at timestamptz not null,
  property_id integer not null,
  -- From the first night that the row is about to the last.
  first_night date not null,
  nights integer not null,
  bucket smallint not null,
  -- Four numbers a run (src/ledger/sql/runs-of-exchange.sql reads them): its dimension; its nights and counts; what it adds to the
  -- room revenue of a night, and to the gross one, in ten-thousandths.
  runs bigint[] not null,
  -- The reservation's id.
  key text collate "C" not null
);

-- As those of night_entry.
create index night_exchange_short on night_exchange (property_id, first_night) where nights <= 31;
create index night_exchange_long on night_exchange (property_id, first_night) where nights > 31;
create index night_exchange_received on night_exchange using brin (received_at) with (autosummarize = on);

-- Versions that read entries only do not start on a database that begins with this one (NEWER_CONTENT in src/db/oldest-version.ts). One that was
-- there before has entries until `bellhop leave-older-versions`, or until anything else is begun that they cannot read.
insert into bellhop_migration.applied (name, checksum, oldest)
select 'exchanges in the stay-night ledger', '', '0.2.0'
where not exists (select from bellhop.property)
on conflict do nothing;

-- What the current content of a reservation says of nights (src/ledger/brief-nights.ts), so that it can be taken off the books without
-- reading its facts; null where it is to be read from them.
alter table current_record add column brief_nights text collate "C";
