-- Webhooks (docs/webhooks.md): where a client wants to be told, what waits to be told, and what became of each try.
set local search_path = bellhop;

-- kind: 'w' a webhook that the client registered, 'r' an origin that its ReplyTo headers name (url is that origin, and each
-- message has an address of its own). shard: which lease of webhook_shard covers it. failures: failed tries since the last
-- good one; until not_before nothing is tried then. dropped: events that found the queue full, since dropped_since.
-- positions: how far the endpoint has been told changes, one change number a bucket.
create table webhook_endpoint (
  endpoint_id uuid primary key,
  client_id text collate "C" not null references client,
  kind "char" not null default 'w',
  url text not null,
  description text not null default '',
  events text[] not null,
  resource text,
  client_code text collate "C",
  property_code text collate "C",
  shard smallint not null,
  created_at timestamptz not null default clock_timestamp(),
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  failures integer not null default 0,
  failing_since timestamptz,
  not_before timestamptz,
  dropped bigint not null default 0,
  dropped_since timestamptz,
  positions text
);
create index webhook_endpoint_client on webhook_endpoint (client_id, created_at);
create index webhook_endpoint_shard on webhook_endpoint (shard);
create unique index webhook_endpoint_reply_to on webhook_endpoint (client_id, url) where kind = 'r';

-- Two slots an endpoint, as of a client: while both are live every message is signed with both. Sealed like the keys that sign
-- tokens (src/auth/seal.ts), because signing needs the secret itself.
create table webhook_secret (
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  slot smallint not null check (slot in (1, 2)),
  sealed text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  primary key (endpoint_id, slot)
);

-- What waits to be delivered, and (dead_at) what was given up: the dead letters. A delivered message is deleted. The id is
-- the webhook-id of every try; the body is kept as it is signed. url: only where it is not the endpoint's. cause: the
-- request or the position that the message tells of.
create table webhook_message (
  message_id uuid primary key,
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  event text not null,
  cause text not null default '',
  url text,
  body text not null,
  created_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_try_at timestamptz not null default clock_timestamp(),
  dead_at timestamptz,
  last_failure text
);
create index webhook_message_due on webhook_message (endpoint_id, next_try_at) where dead_at is null;
create index webhook_message_dead on webhook_message (endpoint_id, dead_at) where dead_at is not null;

-- The delivery log: the newest tries of each endpoint. status: of the answer, where there was one; failure: why it was not good.
create table webhook_attempt (
  attempt_id bigint generated always as identity primary key,
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  message_id uuid not null,
  event text not null,
  url text not null,
  attempt integer not null,
  attempted_at timestamptz not null,
  duration_ms integer not null,
  status smallint,
  failure text,
  answer text not null default ''
);
create index webhook_attempt_endpoint on webhook_attempt (endpoint_id, attempt_id);

-- Which node delivers: one owner a shard, whose lease ends with its backend, or at leased_until if that hangs.
create table webhook_shard (
  shard smallint primary key,
  owner text,
  backend_pid integer,
  backend_start timestamptz,
  leased_until timestamptz
);
insert into webhook_shard (shard) select generate_series(0, 15);

-- Parts of batches that are applied and whose client wants to hear of it. Written by the transaction that applies the part,
-- deleted by the one that has made messages of it: so none is missed, whatever ends in between.
create table applied_part (
  bucket smallint not null,
  request_id uuid not null,
  client_id text not null,
  primary key (bucket, request_id)
);
