-- The stay-night ledger once more, packed: what is read of a hotel's year as 50,000 rows is read as some rows of bytes
-- (docs/decisions/0031). Written by upkeep, of what was received up to the watermark; never by apply.
set local search_path = bellhop_state;

-- Entries of up to 31 nights that begin in one quarter of a year and were received up to received_up_to, and after the part before it:
-- so many records of fixed length, one after another (src/insight/sql/pack-nights.sql, src/insight/night-packs.ts).
create table night_pack (
  bucket smallint not null,
  property_id integer not null,
  quarter date not null,
  received_up_to timestamptz not null,
  entries integer not null,
  packed bytea not null,
  primary key (bucket, property_id, quarter, received_up_to)
);
alter table night_pack alter column packed set storage external;

-- How far a property is packed: its entries of up to 31 nights that were received up to then are, all others are not.
-- Whoever enters something that was received before that takes the row and the property's packs away, in the same transaction.
create table night_pack_progress (
  bucket smallint not null,
  property_id integer not null,
  received_up_to timestamptz not null,
  primary key (bucket, property_id)
);
