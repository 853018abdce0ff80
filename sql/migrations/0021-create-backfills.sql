-- A backfill (docs/backfill.md): a cold start of one property as a session, with what was said to be coming (manifest) and, once
-- it is closed, the statement of what came. The statement is kept as the very text that was hashed and signed, and is never
-- changed: what it says can be worked out again from the log. state: 'o' open, 'c' closed, 'a' abandoned.
-- counted_to: requests up to this id are in the statement.
create table bellhop.backfill (
  backfill_id uuid primary key,
  client_id text collate "C" not null references bellhop.client (client_id),
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  bucket smallint not null,
  manifest json not null,
  note text,
  state "char" not null default 'o',
  opened_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  counted_to uuid,
  statement text,
  statement_hash text,
  abandoned_by text,
  abandoned_why text,
  check ((state = 'c') = (statement is not null))
);
create index backfill_client on bellhop.backfill (client_id, opened_at, backfill_id);
create index backfill_opened on bellhop.backfill (opened_at, backfill_id);

-- Who stands by a statement: the partner by closing, the operator by countersigning. Each names the hash it saw.
create table bellhop.backfill_signature (
  backfill_id uuid not null references bellhop.backfill (backfill_id),
  side text not null check (side in ('partner', 'operator')),
  signed_by text not null,
  signed_at timestamptz not null default clock_timestamp(),
  statement_hash text not null,
  primary key (backfill_id, side)
);

-- Which backfill a batch belongs to; of most of them none.
alter table bellhop.accept_log add column backfill_id uuid;
create index accept_log_backfill on bellhop.accept_log (backfill_id, request_id) where backfill_id is not null;

-- Batches of backfills are written in lanes of their own, which appliers read after the others (docs/decisions/0023).
alter table bellhop.lane add column is_backfill boolean not null default false;
