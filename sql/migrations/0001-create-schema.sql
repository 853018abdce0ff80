-- The schema of version 1.0.0. Later versions add migrations of their own and never edit this one once it is released.

-- The schema that a replay never rebuilds: the log of accepted batches, their outcomes, and the leases of buckets.
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
  -- A property of which everything was deleted keeps its number.
  deleted_at timestamptz,
  unique (client_code, property_code)
);
create index property_created on bellhop.property (created_by, created_at);
create index property_created_of_code on bellhop.property (client_code, created_at);

-- A log writer is one accept writer's connection. Ids within a log writer become visible in order, because one
-- connection commits its flushes one after another. Never reused; closed only once its backend is gone (nothing can
-- appear in it any more), retired once every bucket has applied all of it.
create table bellhop.log_writer (
  log_writer_id bigint generated always as identity primary key,
  -- On which server of Citus its session is; 0 is the first, or only one.
  node integer not null default 0,
  backend_pid integer not null,
  backend_start timestamptz not null,
  closed_at timestamptz,
  retired_at timestamptz,
  -- Large batches and those of backfills have log writers of their own, which appliers read after the others (docs/decisions/0007).
  yields boolean not null default false
);
create index log_writer_unretired on bellhop.log_writer (log_writer_id) where retired_at is null;

-- What was accepted, insert-only. One row a batch and bucket ("part"). Partitioned by time through the UUIDv7.
-- kind: 'b' batch, 'r' release from quarantine, 'd' discard from quarantine (target_* name the record).
-- body: zstd frames of some tens of records each; layout says where each record lies (src/ingest/log/body-layout.ts).
create table bellhop.accept_log (
  bucket smallint not null,
  log_writer_id bigint not null,
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
  -- The backfill that a batch belongs to; null for most.
  backfill_id uuid,
  -- The span that the batch was accepted in, so that its applier continues the trace on any node; null when nothing is traced.
  trace_context bytea,
  primary key (bucket, log_writer_id, request_id)
) partition by range (request_id);
alter table bellhop.accept_log alter column body set storage external;
alter table bellhop.accept_log alter column layout set storage external;
create index accept_log_request on bellhop.accept_log (request_id);
create index accept_log_client on bellhop.accept_log (client_id, request_id);
-- Parts with rejected records, which are few: read to explain a night.
create index accept_log_rejected on bellhop.accept_log (client_id, request_id) where rejections is not null;
create index accept_log_backfill on bellhop.accept_log (backfill_id, request_id) where backfill_id is not null;

-- The first answer to an Idempotency-Key, for 24 hours. One transaction with the log row it names. bucket: the first one of the batch
-- where tables are distributed, so that key and batch lie on one worker; else 0.
create table bellhop.idempotency_key (
  client_id text not null,
  key text collate "C" not null,
  request_id uuid not null,
  fingerprint bytea not null,
  created_at timestamptz not null,
  bucket smallint not null default 0,
  primary key (client_id, key, bucket)
);
create index idempotency_key_created on bellhop.idempotency_key (created_at);

-- Who applies a bucket. Every apply transaction locks this row, so an owner that lost its lease cannot commit.
create table bellhop.bucket_lease (
  bucket smallint primary key,
  epoch bigint not null default 0,
  owner text,
  backend_pid integer,
  backend_start timestamptz
);
insert into bellhop.bucket_lease (bucket) select generate_series(0, 63);

-- How many records of a part have warnings, counted once when the part is applied. Details are written as JSON without spaces
-- (src/apply/apply-parts.ts), and a quote within a text has a backslash before it, so the match is always a member name.
create function bellhop.count_warned(details json) returns integer
  language sql immutable strict parallel safe
  return (octet_length(details::text) - octet_length(replace(details::text, '"warnings":', ''))) / octet_length('"warnings":');

-- The outcome of each record of a part: one letter per record, in the order of the part.
-- a applied, u unchanged, s stale, d duplicate, q quarantined. details: warnings and reasons, by index.
create table bellhop.request_outcome (
  bucket smallint not null,
  request_id uuid not null,
  applied_at timestamptz not null,
  outcomes text collate "C" not null,
  details json,
  warned_count integer generated always as (bellhop.count_warned(details)) stored,
  primary key (bucket, request_id)
);

-- What has been applied of a large part so far, a row for each transaction. The last transaction writes its request_outcome from these
-- rows and deletes them. until_record: how many records of the part, rejected ones included, were done after it.
create table bellhop.applied_piece (
  bucket smallint not null,
  until_record integer not null,
  request_id uuid not null,
  warnings_listed integer not null,
  outcomes text collate "C" not null,
  details json not null,
  arrivals json not null,
  primary key (bucket, request_id, until_record)
);

-- Quarantined records. state: 'q' quarantined, 'r' released, 'd' discarded. decided_by: a decision that is begun and not
-- applied yet, whose id (UUIDv7) has the time of its beginning.
create table bellhop.quarantine (
  bucket smallint not null,
  request_id uuid not null,
  record_index integer not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  code text not null,
  message text not null,
  state "char" not null default 'q',
  resolved_at timestamptz,
  resolved_by uuid,
  outcome "char",
  decided_by uuid,
  primary key (bucket, request_id, record_index)
);
create index quarantine_resolved_by on bellhop.quarantine (resolved_by) where resolved_by is not null;
create index quarantine_unresolved on bellhop.quarantine (bucket, property_id) where state = 'q';
-- The console lists quarantined records over all buckets, the oldest first.
create index quarantine_unresolved_order on bellhop.quarantine (request_id, record_index) where state = 'q';

-- What reservation and group statuses mean, per client code; the default mapping is code.
create table bellhop.status_mapping (
  client_code text collate "C" not null,
  resource "char" not null,
  status text collate "C" not null,
  deducts boolean not null,
  primary key (client_code, resource, status)
);

-- The change number that each bucket gives next: feeds follow it, and a replay does not touch it. The number is part of the key
-- and read as the greatest, which is the first index entry from its end however many dead rows a held snapshot keeps (decision 0006).
create table bellhop.change_counter (
  bucket smallint not null,
  next_change bigint not null,
  primary key (bucket, next_change)
);
insert into bellhop.change_counter (bucket, next_change) select generate_series(0, 63), 1;

-- Nodes and appliers that are present, one row a role and session. A row counts only as long as its backend lives and hears of its
-- client, so nothing has to be cleaned up.
create table bellhop.presence (
  presence_id bigint generated always as identity primary key,
  role text not null,
  owner text not null,
  backend_pid integer not null,
  backend_start timestamptz not null
);

-- The batches of a feed and the outcomes of their records: one row per apply transaction, property and resource. Insert-only,
-- like the outcomes it is written with; a replay does not rebuild it. A query about a feed reads the days it needs from the
-- end and not the log, which does not know properties. rejected: records of lenient batches that name this property (or none).
create table bellhop.feed_arrival (
  first_request_id uuid not null,
  last_request_id uuid not null,
  property_id integer not null,
  batches integer not null,
  applied integer not null,
  unchanged integer not null,
  stale integer not null,
  duplicate integer not null,
  quarantined integer not null,
  rejected integer not null,
  warned integer not null,
  bucket smallint not null,
  resource "char" not null,
  primary key (bucket, property_id, resource, last_request_id)
);

-- The closed timestamps that point-in-time answers rest on (docs/decisions/0012). Log writers read `promised` and refuse ids
-- at or below it, so no further batch appears there. At or below `settled`, no append that began before it read `promised`
-- still runs.
create table bellhop.closed_timestamp (
  is_only boolean primary key default true check (is_only),
  promised uuid not null default '00000000-0000-0000-0000-000000000000',
  settled uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into bellhop.closed_timestamp default values;

-- The same where tables are distributed: a flush of one bucket is one statement of that bucket's worker, which cannot read a table
-- of the coordinator. Without Citus nothing reads or writes it.
create table bellhop.bucket_closed_timestamp (
  bucket smallint primary key,
  promised uuid not null default '00000000-0000-0000-0000-000000000000',
  settled uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into bellhop.bucket_closed_timestamp (bucket) select generate_series(0, 63);

-- What an operator sets of a client code, and of one of its properties over that (docs/operations.md). property_code is null
-- where it is said of the client code. What may be said, and what holds where nothing is, is in src/settings.
create table bellhop.property_setting (
  client_code text collate "C" not null,
  property_code text collate "C",
  name text collate "C" not null,
  value text not null,
  changed_at timestamptz not null default clock_timestamp(),
  constraint property_setting_key unique nulls not distinct (client_code, property_code, name)
);

-- A number for all that is set of a client code and for its status mappings: raised by every change of the one or the
-- other, in the statement that makes it. Two answers under one number were made by the same settings.
create table bellhop.settings_version (
  client_code text collate "C" primary key,
  version integer not null check (version > 0)
);

-- What the console's portfolio shows of a property (src/insight/property-figures.ts), and its daily report, which reports of many
-- hotels add up (src/insight/kept-report.ts; null if it is too large): computed by upkeep from the ledger and inventory, when the
-- basis (its newest batches and the version of its settings) is another, and when it is due by the clock.
create table bellhop.property_figures (
  property_id integer primary key,
  bucket smallint not null,
  computed_at timestamptz not null,
  due_at timestamptz not null,
  basis text not null,
  figures json not null,
  report json
);

-- From when on what is known of a client code's records of a resource, where retention has taken something of them out
-- (docs/decisions/0016): kind is payloads, outcomes or versions. What is current is known whatever this says.
create table bellhop.retention_horizon (
  client_code text collate "C" not null,
  resource "char" not null,
  kind text not null check (kind in ('payloads', 'outcomes', 'versions')),
  known_from timestamptz not null,
  primary key (client_code, resource, kind)
);

-- Notes what is written to a window of versions while it is copied, in the table that the trigger names.
create function bellhop.note_late_version() returns trigger language plpgsql as $body$
begin
  execute format('insert into %s select ($1).*', tg_argv[0]) using new;
  return null;
end
$body$;

-- Who may do what: partners' clients, their secrets and grants, the signing keys, and what an operator did.
set local search_path = bellhop;

-- One row: a counter that every change of this file's tables raises, in the transaction of the change. The row's lock
-- puts those transactions in order, so a node that has seen epoch N has seen every change up to N (rows carry the epoch
-- of their last change). Nodes look at it at most once a second; nothing else is read while it stands still.
create table auth_epoch (
  only_row boolean primary key default true check (only_row),
  epoch bigint not null default 0,
  -- Tokens issued until then may have been revoked: entries of denied_token that were made until then are deleted.
  denials_deleted_until timestamptz not null default '-infinity'
);
insert into auth_epoch default values;

-- An integration partner's credentials. Rates and bursts that are null follow the configuration.
create table client (
  client_id text collate "C" primary key check (client_id ~ '^[A-Za-z0-9_-]{1,128}$'),
  name text not null,
  scopes text[] not null,
  request_rate integer check (request_rate > 0),
  request_burst integer check (request_burst > 0),
  token_burst integer check (token_burst > 0),
  reply_to_origins text[] not null default '{}',
  -- How null in an optional field is read: where the specification shows it, or everywhere as if the field were omitted.
  nulls text not null default 'specified' check (nulls in ('specified', 'absent')),
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz,
  changed_epoch bigint not null
);
create index client_changed on client (changed_epoch);

-- The pairs of codes a client may push and read. property_code '*' stands for every property of the client code.
create table client_grant (
  client_id text collate "C" not null references client,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  primary key (client_id, client_code, property_code)
);
create index client_grant_code on client_grant (client_code);

-- Two slots a client, so never more than two live secrets. digest: HMAC-SHA256 under the installation's pepper.
create table client_secret (
  client_id text collate "C" not null references client,
  slot smallint not null check (slot in (1, 2)),
  digest bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  last_used_at timestamptz,
  -- The pepper that the digest was made with: 1 is `auth.pepper` of bellhop.instance, N is `auth.pepper.N`.
  pepper smallint not null default 1,
  primary key (client_id, slot)
);

-- ES256 keys. The one that signs is the one activated last; until activate_at a key is only announced. From remove_at
-- on its tokens are refused. private_key: PKCS#8 (src/platform/crypto/secret-cipher.ts says how it is encrypted); null once it signs no more.
create table signing_key (
  kid text collate "C" primary key,
  public_jwk json not null,
  private_key text,
  created_at timestamptz not null default clock_timestamp(),
  activate_at timestamptz not null,
  remove_at timestamptz
);

-- How many tokens a client has left, as one instant: the bucket is full again at full_at. issued_at holds the
-- last hour's tokens, for the strict variant.
create table token_bucket (
  client_id text collate "C" primary key references client,
  full_at timestamptz not null,
  issued_at timestamptz[] not null
);

-- Tokens revoked before they expire.
create table denied_token (
  jti text collate "C" primary key,
  client_id text collate "C",
  expires_at timestamptz not null,
  denied_at timestamptz not null default clock_timestamp(),
  changed_epoch bigint not null
);
create index denied_token_changed on denied_token (changed_epoch);
create index denied_token_expires on denied_token (expires_at);

-- What was done to the tables above, and what was refused because it was not granted. Never holds a secret or a token.
-- role: what an operator of the console was at that moment. lists: those of which detail has only the beginning, whole.
create table audit_entry (
  audit_id bigint generated always as identity primary key,
  occurred_at timestamptz not null default clock_timestamp(),
  who text not null,
  role text,
  what text not null,
  client_id text collate "C",
  detail json not null default '{}',
  lists json
);
create index audit_entry_client on audit_entry (client_id, audit_id);
create index audit_entry_occurred on audit_entry (occurred_at);

set local search_path = default;
-- Who may log in to the console, and who is logged in. Names are written in one case, so that two cannot look alike.
-- password_hash: the parameters of scrypt, salt and key; null: no local password. grants: CLIENTCODE/PROPERTYCODE, CLIENTCODE/* or */*.
-- email: whose first login at the OpenID Connect provider binds the account (oidc_issuer, oidc_subject). encrypted_totp_secret: the secret of an
-- authenticator app, encrypted; codes are asked for from totp_since on, each good once (totp_step).
create table bellhop.operator (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  role text not null check (role in ('viewer', 'revenue', 'operator', 'admin')),
  grants text[] not null,
  password_hash text,
  email text collate "C" unique,
  oidc_issuer text collate "C",
  oidc_subject text collate "C",
  encrypted_totp_secret text,
  totp_since timestamptz,
  totp_step bigint,
  recovery_digests bytea[] not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  password_changed_at timestamptz not null default clock_timestamp(),
  last_login_at timestamptz,
  disabled_at timestamptz,
  unique (oidc_issuer, oidc_subject)
);

-- A session is known by the SHA-256 of its id, which only the browser has: who reads this table can use none of them.
create table bellhop.operator_session (
  digest bytea primary key check (octet_length(digest) = 32),
  operator_name text collate "C" not null references bellhop.operator on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index operator_session_operator on bellhop.operator_session (operator_name, created_at);
create index operator_session_expires on bellhop.operator_session (expires_at);

-- Webhooks (docs/webhooks.md): endpoints, queued messages and delivery attempts.
set local search_path = bellhop;

-- kind: 'w' a webhook that the client registered, 'r' an origin that its ReplyTo headers name (url is that origin, and each
-- message has an address of its own). shard: which lease of webhook_shard covers it. failures: failed tries since the last
-- good one; until not_before nothing is tried then. dropped: events that found the queue full, since dropped_since.
-- positions: the last change announced to the endpoint, one change number per bucket.
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

-- Two slots an endpoint, as of a client: while both are live every message is signed with both. Encrypted like the keys that sign
-- tokens (src/platform/crypto/secret-cipher.ts), because signing needs the secret itself.
create table webhook_secret (
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  slot smallint not null check (slot in (1, 2)),
  encrypted_secret text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  primary key (endpoint_id, slot)
);

-- What waits to be delivered, and (dead_at) what was given up: the dead letters. A delivered message is deleted. The id is
-- the webhook-id of every try; the body is kept as it is signed. url: only where it is not the endpoint's. cause: the
-- request or the position that the message reports.
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
create index webhook_message_test on webhook_message (endpoint_id, next_try_at) where dead_at is null and event = 'webhook.test';
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

-- Reports and alerts that operators subscribe to (docs/delivery.md). kind: 'report' of one property at a local time, for so many nights;
-- 'alerts' of the operator's properties, or of a client code or a property. A due time before active_from (creation, or the last resume)
-- is not sent. paused_by: console:<operator>, cli:<user>, or 'unsubscribe link'.
create table subscription (
  subscription_id uuid primary key,
  operator_name text collate "C" not null references operator on delete cascade,
  kind text not null check (kind in ('report', 'alerts')),
  client_code text collate "C",
  property_code text collate "C",
  local_time text check (local_time ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  nights integer,
  conditions text[] not null default '{}',
  pickup_rooms integer,
  created_at timestamptz not null default clock_timestamp(),
  active_from timestamptz not null default clock_timestamp(),
  paused_at timestamptz,
  paused_by text,
  check (kind = 'alerts' or (property_code is not null and local_time is not null and nights is not null)),
  check (property_code is null or client_code is not null)
);
create index subscription_operator on subscription (operator_name, created_at);

-- The outbox: what a subscription sends, each occasion once. A node holds lease until leased_until while it sends one. state: waiting,
-- sent, kept (no e-mail: the console shows it, a report by body_html), failed or dropped; result says why.
create table subscription_message (
  message_id uuid primary key,
  subscription_id uuid not null references subscription on delete cascade,
  occasion text not null,
  created_at timestamptz not null default clock_timestamp(),
  state text not null default 'waiting' check (state in ('waiting', 'sent', 'kept', 'failed', 'dropped')),
  attempts integer not null default 0,
  next_try_at timestamptz not null default clock_timestamp(),
  lease uuid,
  leased_until timestamptz,
  settled_at timestamptz,
  subject text not null default '',
  result text not null default '',
  body_html text,
  unique (subscription_id, occasion)
);
create index subscription_message_due on subscription_message (next_try_at) where state = 'waiting';
create index subscription_message_newest on subscription_message (subscription_id, created_at);

-- A condition that an alert was made of, from when it began to when it ended, with the messages that say so. subject: the feed, or the
-- business day.
create table alert (
  alert_id bigint generated always as identity primary key,
  subscription_id uuid not null references subscription on delete cascade,
  bucket smallint not null,
  property_id integer not null,
  condition text not null,
  subject text not null default '',
  detail json not null,
  began_at timestamptz not null,
  ended_at timestamptz,
  began_message uuid references subscription_message on delete set null,
  ended_message uuid references subscription_message on delete set null
);
create unique index alert_open on alert (subscription_id, property_id, condition, subject) where ended_at is null;
create index alert_began on alert (began_message);
create index alert_ended on alert (ended_message);
create index alert_property on alert (property_id);

-- Parts of batches that are applied and whose client wants to hear of it. Written by the transaction that applies the part,
-- deleted by the one that has made messages of it: so none is missed, whatever ends in between.
create table applied_part (
  bucket smallint not null,
  request_id uuid not null,
  client_id text not null,
  primary key (bucket, request_id)
);

set local search_path = default;
-- Certifications of partners' integrations (docs/certification.md). While one is open its client is held to the limits that
-- stand here, and what else than records it does on the wire is noted.
create table bellhop.certification (
  certification_id uuid primary key,
  client_id text collate "C" not null references bellhop.client,
  -- The property that instructions name in their examples.
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  request_rate integer not null check (request_rate > 0),
  request_burst integer not null check (request_burst > 0),
  token_burst integer not null check (token_burst > 0),
  token_seconds integer not null check (token_seconds between 10 and 3600),
  opened_by text not null,
  opened_at timestamptz not null default clock_timestamp(),
  -- When it was ended, or else when it expires.
  ends_at timestamptz not null
);
create index certification_client on bellhop.certification (client_id, opened_at);

-- One thing that a client under certification did on the wire. At most so many of a kind are kept
-- (src/certification/wire-notes.ts).
create table bellhop.certification_event (
  certification_id uuid not null references bellhop.certification on delete cascade,
  event_no bigint generated always as identity,
  kind text collate "C" not null,
  noted_at timestamptz not null,
  detail json not null,
  primary key (certification_id, kind, event_no)
);

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

-- Data keys that parts of the log are encrypted with (src/ingest/log/encrypt-body.ts): each encrypted by KEY_ENCRYPTION_KEY as the keys that
-- sign tokens are (src/platform/crypto/secret-cipher.ts). One is current; a retired one decrypts what it encrypted.
create table bellhop.payload_key (
  key_id uuid primary key,
  encrypted_key text not null,
  created_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz
);
create unique index payload_key_current on bellhop.payload_key ((true)) where retired_at is null;

-- Erasures of guests (docs/privacy.md): each run with its certificate, and whom it was about. The two tables are the erasure
-- list: what comes again of its subjects is stripped before it is kept. No backup has them; `bellhop erasure export` does.
create table bellhop.erasure (
  erasure_id uuid primary key,
  reason text not null,
  requested_by text not null,
  started_at timestamptz not null default clock_timestamp(),
  -- What stands for erased contents is made with it; wiped when the run is over, so that nobody can try out contents.
  salt bytea,
  finished_at timestamptz,
  -- The very text that was hashed.
  certificate text,
  certificate_hash text,
  check ((finished_at is null) or (salt is null and certificate is not null and certificate_hash is not null))
);
create index erasure_started on bellhop.erasure (started_at, erasure_id);

-- A record (property_code, key), or every reservation of a client code that names a profile (profile_digest: HMAC-SHA256 of its
-- id under the key `privacy.list` of bellhop.instance).
create table bellhop.erasure_subject (
  erasure_id uuid not null references bellhop.erasure,
  client_code text collate "C" not null,
  property_code text collate "C",
  resource "char" not null,
  key text collate "C",
  profile_digest bytea check (octet_length(profile_digest) = 32),
  constraint erasure_subject_key unique nulls not distinct (erasure_id, client_code, property_code, resource, key, profile_digest),
  check ((property_code is null) = (key is null) and (key is null) <> (profile_digest is null))
);

-- Numbers for all that is stripped on arrival: `version` is raised by every change of the list, `settings` by every change of
-- the settings `personalData` and `negativeCounts`. Only the former makes what was read earlier invalid.
create table bellhop.privacy_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0,
  settings bigint not null default 0
);
insert into bellhop.privacy_version default values;

-- The keys under which profiles of the list are digested, and names that are stripped on arrival are hashed.
insert into bellhop.instance (name, value)
select name, replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
from (values ('privacy.list'), ('privacy.names')) as key (name);

-- The rules by which the night ledger is derived (src/apply/ledger/derivation.ts).
insert into bellhop.instance (name, value) values ('ledger.derivation', '3');

-- The schema that a replay can rebuild from the log: positions, current records, versions.
create schema bellhop_state;
set local search_path = bellhop_state;

-- How far a bucket has been applied in each log writer.
create table apply_cursor (
  bucket smallint not null,
  log_writer_id bigint not null,
  request_id uuid not null,
  -- Read as the greatest id of a log writer: see bellhop.change_counter.
  primary key (bucket, log_writer_id, request_id)
);

-- The newest version of each record under the order (source time, request id, index). Holds no document:
-- (request_id, record_index) points into the log; (facts_source_time, content_hash) names the version with the typed facts. Half of each
-- page stays free, so that a nightly push keeps each new row version on the page of the old one and adds no index entry (decision 0006).
-- Columns of one width together; what an unchanged record moves is together, as an update logs from the first changed byte to the last.
create table current_record (
  property_id integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  resource "char" not null,
  -- Whether this content is sure to have no warnings of its own or of its context; null: as long as the property's inventory has
  -- named no room type. Such a record sent again is unchanged without being parsed.
  warning_free boolean default false,
  source_time timestamptz not null,
  request_id uuid not null,
  record_index integer not null,
  content_hash bytea not null,
  key text collate "C" not null,
  facts_source_time timestamptz not null,
  status text,
  -- The nights of a plain reservation in short (src/apply/ledger/content-nights.ts); null where they are read from its facts.
  compact_nights bytea,
  primary key (bucket, property_id, resource, key)
) with (fillfactor = 50);

-- Every version of every record, once per (source time, content), with the columns of one width together. An unchanged version has no
-- facts: those of the version at facts_source_time are its own. change_no numbers the changes of current state within the bucket, null
-- for versions that changed nothing. is_update: whether the change replaced a version rather than brought a new record.
-- Inventory is in the order of source times, because a nightly push gives each date one more version and in the order of keys each
-- would fall on a page of its own (decision 0006). Reservations and groups have few versions a key and stay in the order of keys.
create table inventory_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text,
  is_update boolean,
  primary key (bucket, property_id, source_time, key, content_hash)
);
create index inventory_version_change on inventory_version (bucket, change_no) where change_no is not null;

create table reservation_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text,
  is_update boolean,
  primary key (bucket, property_id, key, source_time, content_hash)
);
create index reservation_version_change on reservation_version (bucket, change_no) where change_no is not null;

create table group_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text,
  is_update boolean,
  primary key (bucket, property_id, key, source_time, content_hash)
);
create index group_version_change on group_version (bucket, change_no) where change_no is not null;

-- For lists by date; lists of inventory by date are lists by key. Partial, although from_date is never null, so that only a query that names from_date can be planned
-- with it: before the first analyze it looked as good as the primary key to the lookup of a record by its key, which
-- then read every record of the property (467 instead of about 20,000 records applied a second).
create index current_record_dates on current_record (bucket, property_id, resource, from_date)
  where from_date is not null and resource <> 'i';

-- Reservations with more nights than insight counts (STAY_NIGHTS_MAX), which are few and mistakes.
create index current_record_endless on current_record (bucket, property_id, from_date)
  where resource = 'r' and to_date - from_date > 1100;

-- Room types that a property's inventory feed has named, for the warning about others.
create table known_room_type (
  bucket smallint not null,
  property_id integer not null,
  room_type_code text collate "C" not null,
  primary key (bucket, property_id, room_type_code)
);

-- The stay-night ledger (docs/decisions/0012): the change that each version of a reservation or of a group block master makes
-- to nights, with both clocks. Rows are only added. What was on the books at an instant is a sum over them; a sum over the
-- entries of a source instant T and a receipt instant R is what counts at T as it was known at R.

-- A run of nights that follow each other and are alike: from first_night on so many nights, each with these numbers.
-- Numbers are signed and for all rooms of the reservation (adults of a room times its rooms); money that is not reported is null.
create table night_entry (
  source_time timestamptz not null,
  received_at timestamptz not null,
  dimension bigint not null,
  property_id integer not null,
  first_night date not null,
  nights integer not null,
  rooms integer not null,
  adults integer not null,
  children integer not null,
  bucket smallint not null,
  room_revenue numeric,
  gross_room_revenue numeric,
  -- The reservation's id, and what it shares its room by: null where it does not.
  key text collate "C" not null,
  share_id text collate "C"
);

-- The same of group block masters. `key` is the group's code; what is not reported is null.
create table block_entry (
  source_time timestamptz not null,
  received_at timestamptz not null,
  dimension bigint not null,
  property_id integer not null,
  first_night date not null,
  nights integer not null,
  blocks integer,
  picked_up integer,
  original_blocks integer,
  bucket smallint not null,
  key text collate "C" not null
);

-- A range of dates reads the short runs that begin up to 30 nights before it, and all long ones that begin before its end.
create index night_entry_short on night_entry (property_id, first_night) where nights <= 31;
create index night_entry_long on night_entry (property_id, first_night) where nights > 31;
-- Entries of shared rooms, which are few and are settled night by night when they are asked for.
create index night_entry_shared on night_entry (property_id, first_night) where share_id is not null;
-- Entries lie nearly in the order of their receipt: what is not packed yet is found by a few kilobytes of ranges.
create index night_entry_received on night_entry using brin (received_at) with (autosummarize = on);
create index block_entry_short on block_entry (property_id, first_night) where nights <= 31;
create index block_entry_long on block_entry (property_id, first_night) where nights > 31;
-- Group masters that name a master of their own (the second of their facts): few properties have any.
create index group_version_linked on group_version (property_id) where facts !~ '^\{("([^"\\]|\\.)*"|[^",}]*)(,NULL[,}]|\})';

-- What entries are grouped by; the first applier that needs a dimension inserts it. The number is derived from the columns after
-- it (the first eight bytes of the SHA-256 of their JSON array, without a null cause), so every replay yields the same. Null: not sent.
-- cause: what the revenue is of where that is not room nights (src/apply/ledger/reservation-nights.ts).
create table night_dimension (
  bucket smallint not null,
  property_id integer not null,
  dimension bigint not null,
  status text collate "C",
  room_type_code text collate "C",
  booked_room_type_code text collate "C",
  market_segment_code text collate "C",
  group_block_code text collate "C",
  rate_code text collate "C",
  channel text collate "C",
  currency_code text collate "C",
  cause text collate "C",
  primary key (bucket, property_id, dimension)
);

-- Versions in which a released record had a part: each copy that matters, and the receipt (of the release, where it was
-- released) from which it counts. All other versions count from their own receipt.
create table released_copy (
  bucket smallint not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  counts_from uuid not null,
  primary key (bucket, property_id, resource, key, source_time, content_hash, request_id, record_index)
);

-- What a version of a reservation changes of nights, in one row (docs/decisions/0012). What does not fit, shared rooms and
-- everything on Citus is written as entries.
create table ledger_delta (
  source_time timestamptz not null,
  received_at timestamptz not null,
  property_id integer not null,
  -- From the first night that the row is about to the last.
  first_night date not null,
  nights integer not null,
  bucket smallint not null,
  -- Four numbers a run (src/platform/db/analytics/sql/runs-of-delta.sql reads them): its dimension; its nights and counts; what it adds to the
  -- room revenue of a night, and to the gross one, in ten-thousandths.
  runs bigint[] not null,
  -- The reservation's id.
  key text collate "C" not null
);

-- As those of night_entry.
create index ledger_delta_short on ledger_delta (property_id, first_night) where nights <= 31;
create index ledger_delta_long on ledger_delta (property_id, first_night) where nights > 31;
create index ledger_delta_received on ledger_delta using brin (received_at) with (autosummarize = on);

-- The stay-night ledger once more, packed: what is read of a hotel's year as 50,000 rows is read as some rows of bytes
-- (docs/decisions/0012). Written by upkeep, of what was received up to the watermark; never by apply.
-- Entries of up to 31 nights that begin in one quarter of a year and were received up to received_up_to, and after the part before it:
-- so many records of fixed length, one after another (src/insight/sql/pack-nights.sql, src/insight/packed-books.ts).
create table ledger_segment (
  bucket smallint not null,
  property_id integer not null,
  quarter date not null,
  received_up_to timestamptz not null,
  entries integer not null,
  packed bytea not null,
  primary key (bucket, property_id, quarter, received_up_to)
);
alter table ledger_segment alter column packed set storage external;

-- How far a property is packed: its entries of up to 31 nights received up to then. A transaction that adds an entry received
-- earlier deletes this row and the property's segments.
create table ledger_segment_progress (
  bucket smallint not null,
  property_id integer not null,
  received_up_to timestamptz not null,
  primary key (bucket, property_id)
);

-- From when on the books of a property are known: the first departure of any version of a reservation (earlier nights have only guests who
-- stayed on, and those before its night before are known in part), the first source time and the first receipt. They only decrease.
create table known_books (
  source_time timestamptz not null,
  received_at timestamptz not null,
  property_id integer not null,
  departure date not null,
  bucket smallint not null,
  primary key (bucket, property_id)
);

-- What analysts ask by SQL: current state as typed rows, and the same rows as they stood at an instant. docs/analytics.md.
create schema analytics;
set local search_path = default;

create type analytics.clock as enum ('source', 'receipt');

-- Request ids are UUIDv7 of ours (src/ingest/log/part-name.ts): 48 bits of milliseconds, then 12 bits of 1/4096 ms.
create function analytics.received_at_of(request_id uuid) returns timestamptz
  language sql immutable strict parallel safe
  return timestamptz 'epoch' + interval '1 microsecond' * (
    ('x' || substr(request_id::text, 1, 8) || substr(request_id::text, 10, 4))::bit(48)::bigint * 1000
    + ('x' || substr(request_id::text, 16, 3))::bit(12)::integer * 1000 / 4096
  );

-- The lowest id of a request that was received after an instant, to the microsecond.
create function analytics.first_request_id_after(instant timestamptz) returns uuid
  language sql immutable strict parallel safe
  return (
    select (
      lpad(to_hex(microseconds / 1000), 12, '0') || '7'
      || lpad(to_hex((microseconds % 1000 * 4096 + 999) / 1000), 3, '0') || '8000000000000000'
    )::uuid
    from (
      select floor(least(greatest(extract(epoch from instant), 0), 281474976709) * 1000000)::bigint + 1 as microseconds
    ) as after
  );

-- The facts of a version are one text (docs/decisions/0006): that of an array, in which each fact has the number that
-- packages/contract/src/schema/record-schemas.ts notes, and of a list what stands within the braces of its array; where all elements are the same, those
-- after the first are left empty, as most lists of a stay's nights say one thing of all of them. A fact beyond the end of the text is null, so
-- that a release can add one. Immutable, as Citus asks of what it sends to workers, and in a schema that it has there before its views.
create function bellhop.facts_of(facts text) returns text[]
  language sql immutable strict parallel safe as 'select facts::text[]';
-- Not strict, or it would not be inlined.
create function bellhop.list_of(list text) returns text
  language sql immutable parallel safe
  return '{' || case when right(list, 1) = ','
    then rtrim(list, ',') || repeat(',' || rtrim(list, ','), octet_length(list) - octet_length(rtrim(list, ',')))
    else list end || '}';

-- Every view below reads these six, and those that are made after the migrations from the record schemas (src/platform/db/analytics) read
-- three more, of the versions with their facts. Views bind to tables and not to names, so a replay that has put other tables in the place
-- of the state binds all of these anew, and only these (src/apply/state/state-schema.ts).
create view analytics.stored_property as
  select property_id, bucket, client_code, property_code from bellhop.property;
create view analytics.stored_current as
  select bucket, property_id, resource, key, source_time, request_id, record_index, content_hash, facts_source_time, status,
    from_date, to_date
  from bellhop_state.current_record;
create view analytics.stored_reservation_range as
  select bucket, property_id, key, source_time, request_id, record_index, to_date, facts_source_time, content_hash
  from bellhop_state.reservation_version;
create view analytics.stored_night_dimension as
  select bucket, property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    channel, currency_code, cause
  from bellhop_state.night_dimension;
create view analytics.stored_night_entry as
  select source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
    gross_room_revenue, key, share_id
  from bellhop_state.night_entry;
create view analytics.stored_ledger_delta as
  select source_time, received_at, property_id, first_night, nights, bucket, runs, key
  from bellhop_state.ledger_delta;

-- Days and statuses as insight reads them. What they know of the declarations in packages/contract/src/statuses.ts and
-- src/settings/setting-values.ts, test/query/analytics.test.ts holds to them.

-- When a business day ends, and the business day of an instant: endOfBusinessDay and businessDayOf of src/settings/business-day.ts.
create function analytics.minutes_after_midnight(business_day_end text) returns integer
  language sql immutable strict parallel safe
  return left(business_day_end, 2)::integer * 60 + right(business_day_end, 2)::integer
    - case when left(business_day_end, 2)::integer < 12 then 0 else 1440 end;
create function analytics.end_of_business_day(business_day date, time_zone text, business_day_end text) returns timestamptz
  language sql immutable strict parallel safe
  return (business_day + 1 + make_interval(mins => analytics.minutes_after_midnight(business_day_end))) at time zone time_zone;
create function analytics.business_day_of(instant timestamptz, time_zone text, business_day_end text) returns date
  language sql immutable strict parallel safe
  return (
    select case when instant < analytics.end_of_business_day(local_day - 1, time_zone, business_day_end) then local_day - 1 else local_day end
    from (
      select (instant at time zone time_zone - make_interval(mins => analytics.minutes_after_midnight(business_day_end)))::date as local_day
    ) as local
  );

-- The effective settings of a property: its own, otherwise its client code's, otherwise the defaults. A deleted one has them, too: sent again
-- it has the same row.
create view analytics.property as
  select property.client_code, property.property_code, setting.name, setting.city,
    coalesce(setting.time_zone, 'UTC') as time_zone, coalesce(setting.business_day_end, '00:00') as business_day_end,
    analytics.business_day_of(now(), coalesce(setting.time_zone, 'UTC'), coalesce(setting.business_day_end, '00:00')) as business_day,
    setting.currency_code, coalesce(setting.occupancy_base, 'capacity') as occupancy_base
  from bellhop.property
  cross join lateral (
    select max(value) filter (where name = 'name') as name, max(value) filter (where name = 'city') as city,
      max(value) filter (where name = 'timeZone') as time_zone, max(value) filter (where name = 'businessDayEnd') as business_day_end,
      max(value) filter (where name = 'currency') as currency_code, max(value) filter (where name = 'occupancyBase') as occupancy_base
    from (
      select distinct on (of_client.name) of_client.name, of_client.value
      from bellhop.property_setting as of_client
      where of_client.client_code = property.client_code
        and (of_client.property_code is null or of_client.property_code = property.property_code)
      order by of_client.name, of_client.property_code
    ) as effective
  ) as setting;

-- A status without what its spellings differ in, which is what JavaScript has for white space and letters that upper case makes ASCII.
create function analytics.folded_status(status text) returns text
  language sql immutable strict parallel safe
  return case when char_length(status) <= 40 then
    upper(replace(replace(replace(
      translate(
        regexp_replace(status, '[\u0009-\u000d \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff_-]', '', 'g'), 'ıſ', 'IS'
      ), 'ﬁ', 'FI'), 'ﬅ', 'ST'), 'ﬆ', 'ST') collate "C")
  end;
create view analytics.default_status as
  select resource, spelling, meaning, on_the_books
  from (values
    ('reservations', 'RESERVED', 'RESERVED', true),
    ('reservations', 'RESERVE', 'RESERVED', true),
    ('reservations', 'BOOKED', 'RESERVED', true),
    ('reservations', 'DUEIN', 'RESERVED', true),
    ('reservations', 'RES', 'RESERVED', true),
    ('reservations', 'CONFIRMED', 'CONFIRMED', true),
    ('reservations', 'CONFIRM', 'CONFIRMED', true),
    ('reservations', 'CONF', 'CONFIRMED', true),
    ('reservations', 'GUARANTEED', 'CONFIRMED', true),
    ('reservations', 'INHOUSE', 'IN_HOUSE', true),
    ('reservations', 'RESIDENT', 'IN_HOUSE', true),
    ('reservations', 'DUEOUT', 'IN_HOUSE', true),
    ('reservations', 'CHECKEDIN', 'CHECKED_IN', true),
    ('reservations', 'CHECKIN', 'CHECKED_IN', true),
    ('reservations', 'ARRIVED', 'CHECKED_IN', true),
    ('reservations', 'CHECKEDOUT', 'CHECKED_OUT', true),
    ('reservations', 'CHECKOUT', 'CHECKED_OUT', true),
    ('reservations', 'DEPARTED', 'CHECKED_OUT', true),
    ('reservations', 'CANCELLED', 'CANCELLED', false),
    ('reservations', 'CANCELED', 'CANCELLED', false),
    ('reservations', 'CANCEL', 'CANCELLED', false),
    ('reservations', 'CANCELLATION', 'CANCELLED', false),
    ('reservations', 'CXL', 'CANCELLED', false),
    ('reservations', 'CXLD', 'CANCELLED', false),
    ('reservations', 'NOSHOW', 'NO_SHOW', false),
    ('reservations', 'NOSHOWED', 'NO_SHOW', false),
    ('reservations', 'WAITLISTED', 'WAITLISTED', false),
    ('reservations', 'WAITLIST', 'WAITLISTED', false),
    ('groups', 'DEFINITE', 'DEFINITE', true),
    ('groups', 'DEF', 'DEFINITE', true),
    ('groups', 'TENTATIVE', 'TENTATIVE', false),
    ('groups', 'TENT', 'TENTATIVE', false),
    ('groups', 'TEN', 'TENTATIVE', false),
    ('groups', 'PROSPECT', 'PROSPECT', false),
    ('groups', 'PROSPECTIVE', 'PROSPECT', false),
    ('groups', 'PROS', 'PROSPECT', false),
    ('groups', 'CANCELLED', 'CANCELLED', false),
    ('groups', 'CANCELED', 'CANCELLED', false),
    ('groups', 'CANCEL', 'CANCELLED', false),
    ('groups', 'CANCELLATION', 'CANCELLED', false),
    ('groups', 'CXL', 'CANCELLED', false),
    ('groups', 'CAN', 'CANCELLED', false),
    ('groups', 'LOST', 'LOST', false),
    ('groups', 'LOS', 'LOST', false)
  ) as known (resource, spelling, meaning, on_the_books);

-- What the statuses of a property's nights and blocks mean: by the client code's mapping, otherwise by default.
create view analytics.status_meaning as
  select used.client_code, used.property_code, resource.name as resource, used.status, known.meaning,
    coalesce(mapping.deducts, known.on_the_books) as on_the_books
  from (
    select distinct property.client_code, property.property_code, dimension.status
    from analytics.stored_property as property
    join analytics.stored_night_dimension as dimension
      on dimension.bucket = property.bucket and dimension.property_id = property.property_id
    where dimension.status is not null
  ) as used
  cross join (values ('reservations', 'r'::"char"), ('groups', 'g'::"char")) as resource (name, letter)
  left join bellhop.status_mapping as mapping
    on mapping.client_code = used.client_code and mapping.resource = resource.letter and mapping.status = used.status
  left join analytics.default_status as known
    on known.resource = resource.name and known.spelling = analytics.folded_status(used.status);
