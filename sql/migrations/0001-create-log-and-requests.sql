-- The schema that is never rebuilt: the log of what was accepted, what was told of it, and who owns which bucket.
create schema bellhop;

-- Settings of this installation that every node shares (issuer, audience, pepper ...).
create table bellhop.instance (
  name text primary key,
  value text not null
);

-- A property (clientCode, propertyCode) as a small number. The bucket is computed from the codes, never changed.
create table bellhop.property (
  property_id integer generated always as identity primary key,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  bucket smallint not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (client_code, property_code)
);
create index property_created on bellhop.property (created_by, created_at);

-- A lane is one accept writer's connection. Ids within a lane become visible in order, because one
-- connection commits its flushes one after another. Never reused; sealed only once its backend is gone (nothing can
-- appear in it any more), retired once every bucket has applied all of it.
create table bellhop.lane (
  lane_id bigint generated always as identity primary key,
  backend_pid integer not null,
  backend_start timestamptz not null,
  born_at timestamptz not null default clock_timestamp(),
  sealed_at timestamptz,
  retired_at timestamptz
);
create index lane_unretired on bellhop.lane (lane_id) where retired_at is null;

-- What was accepted, insert-only. One row a batch and bucket ("part"). Partitioned by time through the UUIDv7.
-- kind: 'b' batch, 'r' release from quarantine, 'd' discard from quarantine (target_* name the record).
-- body: zstd frames of some tens of records each; layout says where each record lies (src/accept/body-layout.ts).
create table bellhop.accept_log (
  bucket smallint not null,
  lane_id bigint not null,
  request_id uuid not null,
  kind "char" not null,
  resource "char" not null,
  client_id text not null,
  received_at timestamptz not null,
  record_count integer not null,
  batch_record_count integer not null,
  batch_part_count smallint not null,
  lenient boolean not null default false,
  correlation_id text,
  reply_to text,
  target_request_id uuid,
  target_index integer,
  rejections json,
  layout bytea,
  body bytea,
  primary key (bucket, lane_id, request_id)
) partition by range (request_id);
alter table bellhop.accept_log alter column body set storage external;
alter table bellhop.accept_log alter column layout set storage external;
create index accept_log_request on bellhop.accept_log (request_id);
create index accept_log_client on bellhop.accept_log (client_id, request_id);

-- The first answer to an Idempotency-Key, for 24 hours. One transaction with the log row it names.
create table bellhop.idempotency_key (
  client_id text not null,
  key text collate "C" not null,
  request_id uuid not null,
  fingerprint bytea not null,
  created_at timestamptz not null,
  primary key (client_id, key)
);
create index idempotency_key_created on bellhop.idempotency_key (created_at);

-- Who applies a bucket. Every apply transaction holds this row, so a taken-over owner cannot commit.
-- next_change is the bucket's counter of changes: feeds follow it, and a replay does not touch it.
create table bellhop.bucket_lease (
  bucket smallint primary key,
  epoch bigint not null default 0,
  owner text,
  backend_pid integer,
  backend_start timestamptz,
  next_change bigint not null default 1
);
insert into bellhop.bucket_lease (bucket) select generate_series(0, 63);

-- What became of each record of a part: one letter a record, in the order of the part.
-- a applied, u unchanged, s stale, d duplicate, q quarantined. details: warnings and reasons, by index.
create table bellhop.request_outcome (
  bucket smallint not null,
  request_id uuid not null,
  applied_at timestamptz not null,
  outcomes text collate "C" not null,
  details json,
  primary key (bucket, request_id)
);

-- Records held aside. state: 'h' held, 'r' released, 'd' discarded.
create table bellhop.quarantine (
  bucket smallint not null,
  request_id uuid not null,
  record_index integer not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  code text not null,
  message text not null,
  state "char" not null default 'h',
  resolved_at timestamptz,
  resolved_by uuid,
  outcome "char",
  primary key (bucket, request_id, record_index)
);
create index quarantine_resolved_by on bellhop.quarantine (resolved_by) where resolved_by is not null;
create index quarantine_held on bellhop.quarantine (bucket, property_id) where state = 'h';

-- Labels (reservation status, group status) and what they mean, per client code; the default mapping is code.
create table bellhop.status_mapping (
  client_code text collate "C" not null,
  resource "char" not null,
  label text collate "C" not null,
  deducts boolean not null,
  primary key (client_code, resource, label)
);
