-- What a fresh database introspects to, to be read and to be compared; sql/migrations makes it.
-- Written by `npm run generate -- schema`, held to the migrations by `npm run check -- schema`.

create schema analytics;
create schema bellhop;
create schema bellhop_migration;
create schema bellhop_state;

create table bellhop.accept_log (
  bucket smallint not null,
  log_writer_id bigint not null,
  request_id uuid not null,
  kind "char" not null,
  resource "char" not null,
  client_id text not null,
  received_at timestamp with time zone not null,
  record_count integer not null,
  batch_record_count integer not null,
  batch_part_count smallint not null,
  lenient boolean default false not null,
  correlation_id text,
  reply_to text,
  target_request_id uuid,
  target_index integer,
  rejections json,
  layout bytea storage external,
  body bytea storage external,
  backfill_id uuid,
  trace_context bytea,
  constraint accept_log_pkey PRIMARY KEY (bucket, log_writer_id, request_id)
) partition by RANGE (request_id);

create table bellhop.alert (
  alert_id bigint generated always as identity not null,
  subscription_id uuid not null,
  bucket smallint not null,
  property_id integer not null,
  condition text not null,
  subject text default ''::text not null,
  detail json not null,
  began_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  began_message uuid,
  ended_message uuid,
  constraint alert_began_message_fkey FOREIGN KEY (began_message) REFERENCES bellhop.subscription_message(message_id) ON DELETE SET NULL,
  constraint alert_ended_message_fkey FOREIGN KEY (ended_message) REFERENCES bellhop.subscription_message(message_id) ON DELETE SET NULL,
  constraint alert_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES bellhop.subscription(subscription_id) ON DELETE CASCADE,
  constraint alert_pkey PRIMARY KEY (alert_id)
);

create table bellhop.applied_part (
  bucket smallint not null,
  request_id uuid not null,
  client_id text not null,
  constraint applied_part_pkey PRIMARY KEY (bucket, request_id)
);

create table bellhop.applied_piece (
  bucket smallint not null,
  until_record integer not null,
  request_id uuid not null,
  warnings_listed integer not null,
  outcomes text collate "C" not null,
  details json not null,
  arrivals json not null,
  constraint applied_piece_pkey PRIMARY KEY (bucket, request_id, until_record)
);

create table bellhop.audit_entry (
  audit_id bigint generated always as identity not null,
  occurred_at timestamp with time zone default clock_timestamp() not null,
  who text not null,
  role text,
  what text not null,
  client_id text collate "C",
  detail json default '{}'::json not null,
  lists json,
  constraint audit_entry_pkey PRIMARY KEY (audit_id)
);

create table bellhop.auth_epoch (
  only_row boolean default true not null,
  epoch bigint default 0 not null,
  denials_deleted_until timestamp with time zone default '-infinity'::timestamp with time zone not null,
  constraint auth_epoch_only_row_check CHECK (only_row),
  constraint auth_epoch_pkey PRIMARY KEY (only_row)
);

create table bellhop.backfill (
  backfill_id uuid not null,
  client_id text collate "C" not null,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  bucket smallint not null,
  manifest json not null,
  note text,
  state "char" default 'o'::"char" not null,
  opened_at timestamp with time zone default clock_timestamp() not null,
  ended_at timestamp with time zone,
  counted_to uuid,
  statement text,
  statement_hash text,
  abandoned_by text,
  abandoned_why text,
  constraint backfill_check CHECK (((state = 'c'::"char") = (statement IS NOT NULL))),
  constraint backfill_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint backfill_pkey PRIMARY KEY (backfill_id)
);

create table bellhop.backfill_signature (
  backfill_id uuid not null,
  side text not null,
  signed_by text not null,
  signed_at timestamp with time zone default clock_timestamp() not null,
  statement_hash text not null,
  constraint backfill_signature_side_check CHECK ((side = ANY (ARRAY['partner'::text, 'operator'::text]))),
  constraint backfill_signature_backfill_id_fkey FOREIGN KEY (backfill_id) REFERENCES bellhop.backfill(backfill_id),
  constraint backfill_signature_pkey PRIMARY KEY (backfill_id, side)
);

create table bellhop.bucket_closed_timestamp (
  bucket smallint not null,
  promised uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  settled uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  constraint bucket_closed_timestamp_pkey PRIMARY KEY (bucket)
);

create table bellhop.bucket_lease (
  bucket smallint not null,
  epoch bigint default 0 not null,
  owner text,
  backend_pid integer,
  backend_start timestamp with time zone,
  constraint bucket_lease_pkey PRIMARY KEY (bucket)
);

create table bellhop.certification (
  certification_id uuid not null,
  client_id text collate "C" not null,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  request_rate integer not null,
  request_burst integer not null,
  token_burst integer not null,
  token_seconds integer not null,
  opened_by text not null,
  opened_at timestamp with time zone default clock_timestamp() not null,
  ends_at timestamp with time zone not null,
  constraint certification_request_burst_check CHECK ((request_burst > 0)),
  constraint certification_request_rate_check CHECK ((request_rate > 0)),
  constraint certification_token_burst_check CHECK ((token_burst > 0)),
  constraint certification_token_seconds_check CHECK (((token_seconds >= 10) AND (token_seconds <= 3600))),
  constraint certification_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint certification_pkey PRIMARY KEY (certification_id)
);

create table bellhop.certification_event (
  certification_id uuid not null,
  event_no bigint generated always as identity not null,
  kind text collate "C" not null,
  noted_at timestamp with time zone not null,
  detail json not null,
  constraint certification_event_certification_id_fkey FOREIGN KEY (certification_id) REFERENCES bellhop.certification(certification_id) ON DELETE CASCADE,
  constraint certification_event_pkey PRIMARY KEY (certification_id, kind, event_no)
);

create table bellhop.change_counter (
  bucket smallint not null,
  next_change bigint not null,
  constraint change_counter_pkey PRIMARY KEY (bucket, next_change)
);

create table bellhop.client (
  client_id text collate "C" not null,
  name text not null,
  scopes text[] not null,
  request_rate integer,
  request_burst integer,
  token_burst integer,
  reply_to_origins text[] default '{}'::text[] not null,
  nulls text default 'specified'::text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  revoked_at timestamp with time zone,
  changed_epoch bigint not null,
  constraint client_client_id_check CHECK ((client_id ~ '^[A-Za-z0-9_-]{1,128}$'::text)),
  constraint client_nulls_check CHECK ((nulls = ANY (ARRAY['specified'::text, 'absent'::text]))),
  constraint client_request_burst_check CHECK ((request_burst > 0)),
  constraint client_request_rate_check CHECK ((request_rate > 0)),
  constraint client_token_burst_check CHECK ((token_burst > 0)),
  constraint client_pkey PRIMARY KEY (client_id)
);

create table bellhop.client_grant (
  client_id text collate "C" not null,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  constraint client_grant_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint client_grant_pkey PRIMARY KEY (client_id, client_code, property_code)
);

create table bellhop.client_secret (
  client_id text collate "C" not null,
  slot smallint not null,
  digest bytea not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  pepper smallint default 1 not null,
  constraint client_secret_digest_check CHECK ((octet_length(digest) = 32)),
  constraint client_secret_slot_check CHECK ((slot = ANY (ARRAY[1, 2]))),
  constraint client_secret_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint client_secret_pkey PRIMARY KEY (client_id, slot)
);

create table bellhop.closed_timestamp (
  is_only boolean default true not null,
  promised uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  settled uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  constraint closed_timestamp_is_only_check CHECK (is_only),
  constraint closed_timestamp_pkey PRIMARY KEY (is_only)
);

create table bellhop.denied_token (
  jti text collate "C" not null,
  client_id text collate "C",
  expires_at timestamp with time zone not null,
  denied_at timestamp with time zone default clock_timestamp() not null,
  changed_epoch bigint not null,
  constraint denied_token_pkey PRIMARY KEY (jti)
);

create table bellhop.erasure (
  erasure_id uuid not null,
  reason text not null,
  requested_by text not null,
  started_at timestamp with time zone default clock_timestamp() not null,
  salt bytea,
  finished_at timestamp with time zone,
  certificate text,
  certificate_hash text,
  constraint erasure_check CHECK (((finished_at IS NULL) OR ((salt IS NULL) AND (certificate IS NOT NULL) AND (certificate_hash IS NOT NULL)))),
  constraint erasure_pkey PRIMARY KEY (erasure_id)
);

create table bellhop.erasure_subject (
  erasure_id uuid not null,
  client_code text collate "C" not null,
  property_code text collate "C",
  resource "char" not null,
  key text collate "C",
  profile_digest bytea,
  constraint erasure_subject_check CHECK ((((property_code IS NULL) = (key IS NULL)) AND ((key IS NULL) <> (profile_digest IS NULL)))),
  constraint erasure_subject_profile_digest_check CHECK ((octet_length(profile_digest) = 32)),
  constraint erasure_subject_erasure_id_fkey FOREIGN KEY (erasure_id) REFERENCES bellhop.erasure(erasure_id),
  constraint erasure_subject_key UNIQUE NULLS NOT DISTINCT (erasure_id, client_code, property_code, resource, key, profile_digest)
);

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
  constraint feed_arrival_pkey PRIMARY KEY (bucket, property_id, resource, last_request_id)
);

create table bellhop.idempotency_key (
  client_id text not null,
  key text collate "C" not null,
  request_id uuid not null,
  fingerprint bytea not null,
  created_at timestamp with time zone not null,
  bucket smallint default 0 not null,
  constraint idempotency_key_pkey PRIMARY KEY (client_id, key, bucket)
);

create table bellhop.instance (
  name text not null,
  value text not null,
  constraint instance_pkey PRIMARY KEY (name)
);

create table bellhop.log_writer (
  log_writer_id bigint generated always as identity not null,
  node integer default 0 not null,
  backend_pid integer not null,
  backend_start timestamp with time zone not null,
  closed_at timestamp with time zone,
  retired_at timestamp with time zone,
  yields boolean default false not null,
  constraint log_writer_pkey PRIMARY KEY (log_writer_id)
);

create table bellhop.operator (
  name text collate "C" not null,
  role text not null,
  grants text[] not null,
  password_hash text,
  email text collate "C",
  oidc_issuer text collate "C",
  oidc_subject text collate "C",
  encrypted_totp_secret text,
  totp_since timestamp with time zone,
  totp_step bigint,
  recovery_digests bytea[] default '{}'::bytea[] not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  password_changed_at timestamp with time zone default clock_timestamp() not null,
  last_login_at timestamp with time zone,
  disabled_at timestamp with time zone,
  constraint operator_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'::text)),
  constraint operator_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'revenue'::text, 'operator'::text, 'admin'::text]))),
  constraint operator_pkey PRIMARY KEY (name),
  constraint operator_email_key UNIQUE (email),
  constraint operator_oidc_issuer_oidc_subject_key UNIQUE (oidc_issuer, oidc_subject)
);

create table bellhop.operator_session (
  digest bytea not null,
  operator_name text collate "C" not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  last_seen_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  constraint operator_session_digest_check CHECK ((octet_length(digest) = 32)),
  constraint operator_session_operator_name_fkey FOREIGN KEY (operator_name) REFERENCES bellhop.operator(name) ON DELETE CASCADE,
  constraint operator_session_pkey PRIMARY KEY (digest)
);

create table bellhop.payload_key (
  key_id uuid not null,
  encrypted_key text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  retired_at timestamp with time zone,
  constraint payload_key_pkey PRIMARY KEY (key_id)
);

create table bellhop.presence (
  presence_id bigint generated always as identity not null,
  role text not null,
  owner text not null,
  backend_pid integer not null,
  backend_start timestamp with time zone not null,
  constraint presence_pkey PRIMARY KEY (presence_id)
);

create table bellhop.privacy_version (
  only_row boolean default true not null,
  version bigint default 0 not null,
  settings bigint default 0 not null,
  constraint privacy_version_only_row_check CHECK (only_row),
  constraint privacy_version_pkey PRIMARY KEY (only_row)
);

create table bellhop.property (
  property_id integer generated always as identity not null,
  client_code text collate "C" not null,
  property_code text collate "C" not null,
  bucket smallint not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  deleted_at timestamp with time zone,
  constraint property_pkey PRIMARY KEY (property_id),
  constraint property_client_code_property_code_key UNIQUE (client_code, property_code)
);

create table bellhop.property_figures (
  property_id integer not null,
  bucket smallint not null,
  computed_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  basis text not null,
  figures json not null,
  report json,
  constraint property_figures_pkey PRIMARY KEY (property_id)
);

create table bellhop.property_setting (
  client_code text collate "C" not null,
  property_code text collate "C",
  name text collate "C" not null,
  value text not null,
  changed_at timestamp with time zone default clock_timestamp() not null,
  constraint property_setting_key UNIQUE NULLS NOT DISTINCT (client_code, property_code, name)
);

create table bellhop.quarantine (
  bucket smallint not null,
  request_id uuid not null,
  record_index integer not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  code text not null,
  message text not null,
  state "char" default 'q'::"char" not null,
  resolved_at timestamp with time zone,
  resolved_by uuid,
  outcome "char",
  decided_by uuid,
  constraint quarantine_pkey PRIMARY KEY (bucket, request_id, record_index)
);

create table bellhop.request_outcome (
  bucket smallint not null,
  request_id uuid not null,
  applied_at timestamp with time zone not null,
  outcomes text collate "C" not null,
  details json,
  warned_count integer generated always as (bellhop.count_warned(details)) stored,
  constraint request_outcome_pkey PRIMARY KEY (bucket, request_id)
);

create table bellhop.retention_horizon (
  client_code text collate "C" not null,
  resource "char" not null,
  kind text not null,
  known_from timestamp with time zone not null,
  constraint retention_horizon_kind_check CHECK ((kind = ANY (ARRAY['payloads'::text, 'outcomes'::text, 'versions'::text]))),
  constraint retention_horizon_pkey PRIMARY KEY (client_code, resource, kind)
);

create table bellhop.settings_version (
  client_code text collate "C" not null,
  version integer not null,
  constraint settings_version_version_check CHECK ((version > 0)),
  constraint settings_version_pkey PRIMARY KEY (client_code)
);

create table bellhop.signing_key (
  kid text collate "C" not null,
  public_jwk json not null,
  private_key text,
  created_at timestamp with time zone default clock_timestamp() not null,
  activate_at timestamp with time zone not null,
  remove_at timestamp with time zone,
  constraint signing_key_pkey PRIMARY KEY (kid)
);

create table bellhop.status_mapping (
  client_code text collate "C" not null,
  resource "char" not null,
  status text collate "C" not null,
  deducts boolean not null,
  constraint status_mapping_pkey PRIMARY KEY (client_code, resource, status)
);

create table bellhop.subscription (
  subscription_id uuid not null,
  operator_name text collate "C" not null,
  kind text not null,
  client_code text collate "C",
  property_code text collate "C",
  local_time text,
  nights integer,
  conditions text[] default '{}'::text[] not null,
  pickup_rooms integer,
  created_at timestamp with time zone default clock_timestamp() not null,
  active_from timestamp with time zone default clock_timestamp() not null,
  paused_at timestamp with time zone,
  paused_by text,
  constraint subscription_check CHECK (((kind = 'alerts'::text) OR ((property_code IS NOT NULL) AND (local_time IS NOT NULL) AND (nights IS NOT NULL)))),
  constraint subscription_check1 CHECK (((property_code IS NULL) OR (client_code IS NOT NULL))),
  constraint subscription_kind_check CHECK ((kind = ANY (ARRAY['report'::text, 'alerts'::text]))),
  constraint subscription_local_time_check CHECK ((local_time ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'::text)),
  constraint subscription_operator_name_fkey FOREIGN KEY (operator_name) REFERENCES bellhop.operator(name) ON DELETE CASCADE,
  constraint subscription_pkey PRIMARY KEY (subscription_id)
);

create table bellhop.subscription_message (
  message_id uuid not null,
  subscription_id uuid not null,
  occasion text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  state text default 'waiting'::text not null,
  attempts integer default 0 not null,
  next_try_at timestamp with time zone default clock_timestamp() not null,
  lease uuid,
  leased_until timestamp with time zone,
  settled_at timestamp with time zone,
  subject text default ''::text not null,
  result text default ''::text not null,
  body_html text,
  constraint subscription_message_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sent'::text, 'kept'::text, 'failed'::text, 'dropped'::text]))),
  constraint subscription_message_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES bellhop.subscription(subscription_id) ON DELETE CASCADE,
  constraint subscription_message_pkey PRIMARY KEY (message_id),
  constraint subscription_message_subscription_id_occasion_key UNIQUE (subscription_id, occasion)
);

create table bellhop.token_bucket (
  client_id text collate "C" not null,
  full_at timestamp with time zone not null,
  issued_at timestamp with time zone[] not null,
  constraint token_bucket_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint token_bucket_pkey PRIMARY KEY (client_id)
);

create table bellhop.webhook_attempt (
  attempt_id bigint generated always as identity not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  event text not null,
  url text not null,
  attempt integer not null,
  attempted_at timestamp with time zone not null,
  duration_ms integer not null,
  status smallint,
  failure text,
  answer text default ''::text not null,
  constraint webhook_attempt_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES bellhop.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  constraint webhook_attempt_pkey PRIMARY KEY (attempt_id)
);

create table bellhop.webhook_endpoint (
  endpoint_id uuid not null,
  client_id text collate "C" not null,
  kind "char" default 'w'::"char" not null,
  url text not null,
  description text default ''::text not null,
  events text[] not null,
  resource text,
  client_code text collate "C",
  property_code text collate "C",
  shard smallint not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  paused_at timestamp with time zone,
  paused_by text,
  pause_reason text,
  failures integer default 0 not null,
  failing_since timestamp with time zone,
  not_before timestamp with time zone,
  dropped bigint default 0 not null,
  dropped_since timestamp with time zone,
  positions text,
  constraint webhook_endpoint_client_id_fkey FOREIGN KEY (client_id) REFERENCES bellhop.client(client_id),
  constraint webhook_endpoint_pkey PRIMARY KEY (endpoint_id)
);

create table bellhop.webhook_message (
  message_id uuid not null,
  endpoint_id uuid not null,
  event text not null,
  cause text default ''::text not null,
  url text,
  body text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  attempts integer default 0 not null,
  next_try_at timestamp with time zone default clock_timestamp() not null,
  dead_at timestamp with time zone,
  last_failure text,
  constraint webhook_message_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES bellhop.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  constraint webhook_message_pkey PRIMARY KEY (message_id)
);

create table bellhop.webhook_secret (
  endpoint_id uuid not null,
  slot smallint not null,
  encrypted_secret text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone,
  constraint webhook_secret_slot_check CHECK ((slot = ANY (ARRAY[1, 2]))),
  constraint webhook_secret_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES bellhop.webhook_endpoint(endpoint_id) ON DELETE CASCADE,
  constraint webhook_secret_pkey PRIMARY KEY (endpoint_id, slot)
);

create table bellhop.webhook_shard (
  shard smallint not null,
  owner text,
  backend_pid integer,
  backend_start timestamp with time zone,
  leased_until timestamp with time zone,
  constraint webhook_shard_pkey PRIMARY KEY (shard)
);

create table bellhop_migration.applied (
  name text not null,
  checksum text not null,
  oldest text,
  applied_at timestamp with time zone default clock_timestamp() not null,
  constraint applied_pkey PRIMARY KEY (name)
);

create table bellhop_state.apply_cursor (
  bucket smallint not null,
  log_writer_id bigint not null,
  request_id uuid not null,
  constraint apply_cursor_pkey PRIMARY KEY (bucket, log_writer_id, request_id)
);

create table bellhop_state.block_entry (
  source_time timestamp with time zone not null,
  received_at timestamp with time zone not null,
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

create table bellhop_state.current_record (
  property_id integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  resource "char" not null,
  warning_free boolean default false,
  source_time timestamp with time zone not null,
  request_id uuid not null,
  record_index integer not null,
  content_hash bytea not null,
  key text collate "C" not null,
  facts_source_time timestamp with time zone not null,
  status text,
  compact_nights bytea,
  constraint current_record_pkey PRIMARY KEY (bucket, property_id, resource, key)
) with (fillfactor=50);

create table bellhop_state.group_version (
  source_time timestamp with time zone not null,
  facts_source_time timestamp with time zone not null,
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
  constraint group_version_pkey PRIMARY KEY (bucket, property_id, key, source_time, content_hash)
);

create table bellhop_state.inventory_version (
  source_time timestamp with time zone not null,
  facts_source_time timestamp with time zone not null,
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
  constraint inventory_version_pkey PRIMARY KEY (bucket, property_id, source_time, key, content_hash)
);

create table bellhop_state.known_books (
  source_time timestamp with time zone not null,
  received_at timestamp with time zone not null,
  property_id integer not null,
  departure date not null,
  bucket smallint not null,
  constraint known_books_pkey PRIMARY KEY (bucket, property_id)
);

create table bellhop_state.known_room_type (
  bucket smallint not null,
  property_id integer not null,
  room_type_code text collate "C" not null,
  constraint known_room_type_pkey PRIMARY KEY (bucket, property_id, room_type_code)
);

create table bellhop_state.ledger_delta (
  source_time timestamp with time zone not null,
  received_at timestamp with time zone not null,
  property_id integer not null,
  first_night date not null,
  nights integer not null,
  bucket smallint not null,
  runs bigint[] not null,
  key text collate "C" not null
);

create table bellhop_state.ledger_segment (
  bucket smallint not null,
  property_id integer not null,
  quarter date not null,
  received_up_to timestamp with time zone not null,
  entries integer not null,
  packed bytea storage external not null,
  constraint ledger_segment_pkey PRIMARY KEY (bucket, property_id, quarter, received_up_to)
);

create table bellhop_state.ledger_segment_progress (
  bucket smallint not null,
  property_id integer not null,
  received_up_to timestamp with time zone not null,
  constraint ledger_segment_progress_pkey PRIMARY KEY (bucket, property_id)
);

create table bellhop_state.night_dimension (
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
  constraint night_dimension_pkey PRIMARY KEY (bucket, property_id, dimension)
);

create table bellhop_state.night_entry (
  source_time timestamp with time zone not null,
  received_at timestamp with time zone not null,
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
  key text collate "C" not null,
  share_id text collate "C"
);

create table bellhop_state.released_copy (
  bucket smallint not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  source_time timestamp with time zone not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  counts_from uuid not null,
  constraint released_copy_pkey PRIMARY KEY (bucket, property_id, resource, key, source_time, content_hash, request_id, record_index)
);

create table bellhop_state.reservation_version (
  source_time timestamp with time zone not null,
  facts_source_time timestamp with time zone not null,
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
  constraint reservation_version_pkey PRIMARY KEY (bucket, property_id, key, source_time, content_hash)
);

create type analytics.clock as enum ('source', 'receipt');

CREATE INDEX accept_log_backfill ON ONLY bellhop.accept_log USING btree (backfill_id, request_id) WHERE (backfill_id IS NOT NULL);
CREATE INDEX accept_log_client ON ONLY bellhop.accept_log USING btree (client_id, request_id);
CREATE INDEX accept_log_rejected ON ONLY bellhop.accept_log USING btree (client_id, request_id) WHERE (rejections IS NOT NULL);
CREATE INDEX accept_log_request ON ONLY bellhop.accept_log USING btree (request_id);
CREATE INDEX alert_began ON bellhop.alert USING btree (began_message);
CREATE INDEX alert_ended ON bellhop.alert USING btree (ended_message);
CREATE UNIQUE INDEX alert_open ON bellhop.alert USING btree (subscription_id, property_id, condition, subject) WHERE (ended_at IS NULL);
CREATE INDEX alert_property ON bellhop.alert USING btree (property_id);
CREATE INDEX audit_entry_client ON bellhop.audit_entry USING btree (client_id, audit_id);
CREATE INDEX audit_entry_occurred ON bellhop.audit_entry USING btree (occurred_at);
CREATE INDEX backfill_client ON bellhop.backfill USING btree (client_id, opened_at, backfill_id);
CREATE INDEX backfill_opened ON bellhop.backfill USING btree (opened_at, backfill_id);
CREATE INDEX certification_client ON bellhop.certification USING btree (client_id, opened_at);
CREATE INDEX client_changed ON bellhop.client USING btree (changed_epoch);
CREATE INDEX client_grant_code ON bellhop.client_grant USING btree (client_code);
CREATE INDEX denied_token_changed ON bellhop.denied_token USING btree (changed_epoch);
CREATE INDEX denied_token_expires ON bellhop.denied_token USING btree (expires_at);
CREATE INDEX erasure_started ON bellhop.erasure USING btree (started_at, erasure_id);
CREATE INDEX idempotency_key_created ON bellhop.idempotency_key USING btree (created_at);
CREATE INDEX log_writer_unretired ON bellhop.log_writer USING btree (log_writer_id) WHERE (retired_at IS NULL);
CREATE INDEX operator_session_expires ON bellhop.operator_session USING btree (expires_at);
CREATE INDEX operator_session_operator ON bellhop.operator_session USING btree (operator_name, created_at);
CREATE UNIQUE INDEX payload_key_current ON bellhop.payload_key USING btree ((true)) WHERE (retired_at IS NULL);
CREATE INDEX property_created ON bellhop.property USING btree (created_by, created_at);
CREATE INDEX property_created_of_code ON bellhop.property USING btree (client_code, created_at);
CREATE INDEX quarantine_resolved_by ON bellhop.quarantine USING btree (resolved_by) WHERE (resolved_by IS NOT NULL);
CREATE INDEX quarantine_unresolved ON bellhop.quarantine USING btree (bucket, property_id) WHERE (state = 'q'::"char");
CREATE INDEX quarantine_unresolved_order ON bellhop.quarantine USING btree (request_id, record_index) WHERE (state = 'q'::"char");
CREATE INDEX subscription_message_due ON bellhop.subscription_message USING btree (next_try_at) WHERE (state = 'waiting'::text);
CREATE INDEX subscription_message_newest ON bellhop.subscription_message USING btree (subscription_id, created_at);
CREATE INDEX subscription_operator ON bellhop.subscription USING btree (operator_name, created_at);
CREATE INDEX webhook_attempt_endpoint ON bellhop.webhook_attempt USING btree (endpoint_id, attempt_id);
CREATE INDEX webhook_endpoint_client ON bellhop.webhook_endpoint USING btree (client_id, created_at);
CREATE UNIQUE INDEX webhook_endpoint_reply_to ON bellhop.webhook_endpoint USING btree (client_id, url) WHERE (kind = 'r'::"char");
CREATE INDEX webhook_endpoint_shard ON bellhop.webhook_endpoint USING btree (shard);
CREATE INDEX webhook_message_dead ON bellhop.webhook_message USING btree (endpoint_id, dead_at) WHERE (dead_at IS NOT NULL);
CREATE INDEX webhook_message_due ON bellhop.webhook_message USING btree (endpoint_id, next_try_at) WHERE (dead_at IS NULL);
CREATE INDEX webhook_message_test ON bellhop.webhook_message USING btree (endpoint_id, next_try_at) WHERE ((dead_at IS NULL) AND (event = 'webhook.test'::text));
CREATE INDEX block_entry_long ON bellhop_state.block_entry USING btree (property_id, first_night) WHERE (nights > 31);
CREATE INDEX block_entry_short ON bellhop_state.block_entry USING btree (property_id, first_night) WHERE (nights <= 31);
CREATE INDEX current_record_dates ON bellhop_state.current_record USING btree (bucket, property_id, resource, from_date) WHERE ((from_date IS NOT NULL) AND (resource <> 'i'::"char"));
CREATE INDEX current_record_endless ON bellhop_state.current_record USING btree (bucket, property_id, from_date) WHERE ((resource = 'r'::"char") AND ((to_date - from_date) > 1100));
CREATE INDEX group_version_change ON bellhop_state.group_version USING btree (bucket, change_no) WHERE (change_no IS NOT NULL);
CREATE INDEX group_version_linked ON bellhop_state.group_version USING btree (property_id) WHERE (facts !~ '^\{("([^"\\]|\\.)*"|[^",}]*)(,NULL[,}]|\})'::text);
CREATE INDEX inventory_version_change ON bellhop_state.inventory_version USING btree (bucket, change_no) WHERE (change_no IS NOT NULL);
CREATE INDEX ledger_delta_long ON bellhop_state.ledger_delta USING btree (property_id, first_night) WHERE (nights > 31);
CREATE INDEX ledger_delta_received ON bellhop_state.ledger_delta USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX ledger_delta_short ON bellhop_state.ledger_delta USING btree (property_id, first_night) WHERE (nights <= 31);
CREATE INDEX night_entry_long ON bellhop_state.night_entry USING btree (property_id, first_night) WHERE (nights > 31);
CREATE INDEX night_entry_received ON bellhop_state.night_entry USING brin (received_at) WITH (autosummarize='on');
CREATE INDEX night_entry_shared ON bellhop_state.night_entry USING btree (property_id, first_night) WHERE (share_id IS NOT NULL);
CREATE INDEX night_entry_short ON bellhop_state.night_entry USING btree (property_id, first_night) WHERE (nights <= 31);
CREATE INDEX reservation_version_change ON bellhop_state.reservation_version USING btree (bucket, change_no) WHERE (change_no IS NOT NULL);

CREATE OR REPLACE FUNCTION analytics.business_day_of(instant timestamp with time zone, time_zone text, business_day_end text)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (SELECT CASE WHEN (business_day_of.instant < analytics.end_of_business_day((local.local_day - 1), business_day_of.time_zone, business_day_of.business_day_end)) THEN (local.local_day - 1) ELSE local.local_day END AS local_day FROM (SELECT (((business_day_of.instant AT TIME ZONE business_day_of.time_zone) - make_interval(mins => analytics.minutes_after_midnight(business_day_of.business_day_end))))::date AS local_day) local);
CREATE OR REPLACE FUNCTION analytics.daily_revenue_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.daily_revenue
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as reservation_id,
        sent.revenue_date as occupancy_date,
        record.status,
        sent.net_room_revenue,
        sent.net_food_revenue,
        sent.net_beverage_revenue,
        sent.net_other_revenue,
        sent.net_ticket_price,
        sent.ticket_price,
        sent.net_total_revenue,
        sent.gross_total_revenue,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'r' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_reservation_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_reservation_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral unnest(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue, facts.net_beverage_revenue, facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price, facts.net_total_revenue, facts.gross_total_revenue) as sent (revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue, net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue)$function$;
CREATE OR REPLACE FUNCTION analytics.end_of_business_day(business_day date, time_zone text, business_day_end text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (((business_day + 1) + make_interval(mins => analytics.minutes_after_midnight(business_day_end))) AT TIME ZONE time_zone);
CREATE OR REPLACE FUNCTION analytics.first_request_id_after(instant timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (SELECT ((((lpad(to_hex((after.microseconds / 1000)), 12, '0'::text) || '7'::text) || lpad(to_hex(((((after.microseconds % (1000)::bigint) * 4096) + 999) / 1000)), 3, '0'::text)) || '8000000000000000'::text))::uuid AS uuid FROM (SELECT ((floor((LEAST(GREATEST(EXTRACT(epoch FROM first_request_id_after.instant), (0)::numeric), ('281474976709'::bigint)::numeric) * (1000000)::numeric)))::bigint + 1) AS microseconds) after);
CREATE OR REPLACE FUNCTION analytics.folded_status(status text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN CASE WHEN (char_length(status) <= 40) THEN upper((replace(replace(replace(translate(regexp_replace(status, '[\u0009-\u000d \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff_-]'::text, ''::text, 'g'::text), 'ıſ'::text, 'IS'::text), 'ﬁ'::text, 'FI'::text), 'ﬅ'::text, 'ST'::text), 'ﬆ'::text, 'ST'::text) COLLATE "C")) ELSE NULL::text END;
CREATE OR REPLACE FUNCTION analytics.group_block_master_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.group_block_master
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as group_code,
        record.status,
        facts.master_group_code,
        facts.name,
        facts.booking_date,
        facts.start_date,
        facts.end_date,
        facts.cutoff_days,
        facts.cutoff_date,
        facts.group_type_code,
        facts.pickup_type_code,
        facts.market_segment_code,
        facts.rate_code,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'g' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_group_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_group_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      $function$;
CREATE OR REPLACE FUNCTION analytics.group_block_night_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.group_block_night
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as group_code,
        record.status,
        block.occupancy_date,
        block.room_type_code,
        block.blocks,
        block.pickup,
        block.original_blocks,
        block.single_person_rate,
        block.two_person_rate,
        block.currency_code,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'g' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_group_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_group_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral unnest(facts.occupancy_date, facts.room_type_code, facts.blocks, facts.pickup, facts.original_blocks, facts.single_person_rate, facts.two_person_rate, facts.currency_code) as block (occupancy_date, room_type_code, blocks, pickup, original_blocks, single_person_rate, two_person_rate, currency_code)$function$;
CREATE OR REPLACE FUNCTION analytics.minutes_after_midnight(business_day_end text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (((("left"(business_day_end, 2))::integer * 60) + ("right"(business_day_end, 2))::integer) - CASE WHEN (("left"(business_day_end, 2))::integer < 12) THEN 0 ELSE 1440 END);
CREATE OR REPLACE FUNCTION analytics.movement_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text, first_date date DEFAULT NULL::date, last_date date DEFAULT NULL::date)
 RETURNS TABLE(client_code text, property_code text, stay_date date, currency_code text, arrivals integer, departures integer, stay_throughs integer, length_of_stay numeric, lead_days numeric, cancelled_rooms integer, cancelled_room_revenue numeric, cancelled_lead_days numeric, cancellation_rate numeric, no_show_rooms integer, no_show_room_revenue numeric, no_show_rate numeric, stay_rooms integer, stay_nights bigint, lead_rooms integer, lead_room_days bigint, cancelled_room_days bigint)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$with 
-- What is counted of the ledger, by the rules of docs/figures.md, as of an instant: the property or properties, what their statuses mean, and
-- their entries with a night of the range, in the states that are asked.
property as materialized (
  select stored.property_id, stored.bucket, client_code, property_code, settings.time_zone, settings.currency_code,
    make_interval(mins => analytics.minutes_after_midnight(settings.business_day_end)) as day_end
  from analytics.property as settings
  join analytics.stored_property as stored using (client_code, property_code)
  where (of_client_code is null or client_code = of_client_code)
    and (of_property_code is null or property_code = of_property_code)
),
meaning as materialized (
  select client_code, property_code, status, meaning, on_the_books
  from analytics.status_meaning as used
  where used.resource = 'reservations' and used.on_the_books is not null
    and (of_client_code is null or used.client_code = of_client_code)
    and (of_property_code is null or used.property_code = of_property_code)
),
kind as materialized (
  select dimension.property_id, dimension.dimension, dimension.status, dimension.room_type_code, dimension.booked_room_type_code,
    dimension.market_segment_code, dimension.group_block_code, dimension.rate_code, dimension.channel,
    coalesce(dimension.currency_code, property.currency_code) as currency_code, dimension.currency_code as own_currency_code,
    case
      when meaning.on_the_books then 'books'
      when meaning.meaning = 'NO_SHOW' then 'no-show'
      when meaning.meaning is distinct from 'WAITLISTED' then 'cancelled'
    end as state
  from property
  join analytics.stored_night_dimension as dimension
    on dimension.bucket = property.bucket and dimension.property_id = property.property_id 
  join meaning
    on meaning.client_code = property.client_code and meaning.property_code = property.property_code
    and meaning.status = dimension.status
  where coalesce(dimension.cause = 'posted', true)
),
run as materialized (

-- Entries of properties with a night of a range, in rows and in runs of deltas. Plan: bitmap scans of the indexes of short entries (up to 31
-- nights, so with a first night from 30 nights before the range) and of long ones.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from analytics.stored_night_entry as t
where property_id = any (array(select property_id from property)) and nights <= 31 
  and first_night between (coalesce(first_date, '-infinity') - 1) - 30 and coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity') - 1)
union all
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from analytics.stored_night_entry as t
where property_id = any (array(select property_id from property)) and nights > 31
  and first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity') - 1)
union all
select * from (
  with delta as (
    select * from analytics.stored_ledger_delta as t
    where property_id = any (array(select property_id from property)) and nights <= 31 
      and first_night between (coalesce(first_date, '-infinity') - 1) - 30 and coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity') - 1)
    union all
    select * from analytics.stored_ledger_delta as t
    where property_id = any (array(select property_id from property)) and nights > 31
      and first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity') - 1)
  )
  
-- Expands rows of ledger_delta, here named `delta`, into rows as in night_entry. A run is four bigints, packed by
-- src/apply/ledger/write-ledger.ts; a row has at most 62 runs.
-- The start positions are unnested in the select list, so that conditions on times are pushed below it: a lateral join takes a
-- quarter longer. They are a literal because the planner expects 10 rows of an array, but 1,000 of generate_series.
select
  source_time, received_at, dimension, property_id,
  date '1970-01-01' + (nights_and_counts >> 38)::integer as first_night,
  (nights_and_counts >> 32 & 63)::integer as nights,
  (nights_and_counts >> 22 & 1023)::integer - 512 as rooms,
  (nights_and_counts >> 11 & 2047)::integer - 1024 as adults,
  (nights_and_counts & 2047)::integer - 1024 as children,
  bucket,
  nullif(revenue, -9223372036854775808) * 0.0001 as room_revenue,
  nullif(gross_revenue, -9223372036854775808) * 0.0001 as gross_room_revenue,
  key, null::text collate "C" as share_id
from (
  select
    source_time, received_at, property_id, bucket, key,
    runs[unnest(places[:cardinality(runs) / 4])] as dimension,
    runs[unnest(places[:cardinality(runs) / 4]) + 1] as nights_and_counts,
    runs[unnest(places[:cardinality(runs) / 4]) + 2] as revenue,
    runs[unnest(places[:cardinality(runs) / 4]) + 3] as gross_revenue
  from delta
  cross join (
    select '{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81,
      85, 89, 93, 97, 101, 105, 109, 113, 117, 121, 125, 129, 133, 137, 141, 145, 149, 153, 157, 161, 165,
      169, 173, 177, 181, 185, 189, 193, 197, 201, 205, 209, 213, 217, 221, 225, 229, 233, 237, 241, 245}'::integer[] as places
  ) as longest
) as laid_out

) as run
where first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity') - 1)

),
entry as materialized (
  select kind.*, run.key, run.share_id, run.rooms, run.adults, run.children, run.room_revenue, run.gross_room_revenue, run.source_time,
    greatest(run.first_night, (coalesce(first_date, '-infinity') - 1)) as first_night, least(run.first_night + run.nights, coalesce(last_date, 'infinity') + 1) as end_night
  from run
  join kind on kind.property_id = run.property_id and kind.dimension = run.dimension
  where kind.state = any ('{books,cancelled,no-show}') and case clock when 'source' then run.source_time else run.received_at end <= instant
)
,
of_night as materialized (
  select property_id, state, currency_code, share_id, key, first_night + passed as night, sum(rooms) as rooms,
    sum(room_revenue) as room_revenue, min(source_time) filter (where rooms > 0) as since
  from entry
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by property_id, state, currency_code, share_id, key, first_night + passed
),
-- A reservation, or a share with as many rooms as the most that any member has.
unit as materialized (
  select property_id, state, share_id, night, own, min(currency_code) as currency_code, min(key) as key, max(rooms) as rooms,
    min(since) as since
  from (
    select property_id, state, share_id, night, case when share_id is null then key end as own, min(currency_code) as currency_code,
      key, sum(rooms) as rooms, min(since) as since
    from of_night
    group by property_id, state, share_id, night, key
    having sum(rooms) <> 0
  ) as member
  group by property_id, state, share_id, night, own
),
edge as materialized (
  select property_id, share_id, own, night, sum(rooms) as rooms, sum(before) as before,
    coalesce(min(currency_code) filter (where rooms > 0), min(currency_code)) as currency_code, min(key) filter (where rooms > 0) as key
  from (
    select property_id, share_id, own, night, currency_code, key, rooms, 0 as before from unit where state = 'books'
    union all
    select property_id, share_id, own, night + 1, currency_code, key, 0, rooms from unit where state = 'books'
  ) as side
  where night between (coalesce(first_date, '-infinity') - 1) + 1 and coalesce(last_date, 'infinity')
  group by property_id, share_id, own, night
),
arrival as (
  select edge.property_id, edge.currency_code, edge.night, edge.rooms - edge.before as rooms, version.to_date - edge.night as stay,
    edge.night - (facts.booking_time at time zone property.time_zone - property.day_end)::date as lead
  from edge
  join property using (property_id)
  left join lateral (
    select newest.to_date, newest.facts_source_time, newest.content_hash
    from analytics.stored_reservation_range as newest
    where newest.bucket = property.bucket and newest.property_id = edge.property_id and newest.key = edge.key
      
      and case clock
        when 'source' then newest.source_time <= instant
        else newest.request_id < analytics.first_request_id_after(instant)
      end
    order by newest.source_time desc, newest.request_id desc, newest.record_index desc
    limit 1
  ) as version on true
  -- With a limit, so that it is looked up by key even where nested loops are disabled.
  left join lateral (
    select stored.booking_time
    from analytics.stored_reservation_version as stored
    where stored.bucket = property.bucket and stored.property_id = edge.property_id and stored.key = edge.key
      and stored.source_time = version.facts_source_time and stored.content_hash = version.content_hash
      
    limit 1
  ) as facts on true
  where edge.rooms > edge.before
),
part as (
  select property_id, currency_code, night, greatest(rooms - before, 0) as arrivals, greatest(before - rooms, 0) as departures,
    least(rooms, before) as stay_throughs, 0 as cancelled, null::numeric as cancelled_revenue, 0 as cancelled_days, 0 as no_shows,
    null::numeric as no_show_revenue, 0 as stay_rooms, 0 as stay_nights, 0 as lead_rooms, 0 as lead_days
  from edge
  union all
  select property_id, unit.currency_code, night, 0, 0, 0, case when state = 'cancelled' then rooms else 0 end, null,
    case when state = 'cancelled' then rooms * (night - (since at time zone property.time_zone - property.day_end)::date) else 0 end,
    case when state = 'no-show' then rooms else 0 end, null, 0, 0, 0, 0
  from unit
  join property using (property_id)
  where state <> 'books' and night > (coalesce(first_date, '-infinity') - 1)
  union all
  select property_id, currency_code, night, 0, 0, 0, 0, case when state = 'cancelled' then sum(room_revenue) end, 0, 0,
    case when state = 'no-show' then sum(room_revenue) end, 0, 0, 0, 0
  from of_night where state <> 'books' and night > (coalesce(first_date, '-infinity') - 1) and room_revenue <> 0
  group by property_id, state, currency_code, night
  union all
  select property_id, currency_code, night, 0, 0, 0, 0, null, 0, 0, null, case when stay is null then 0 else rooms end,
    coalesce(rooms * stay, 0), case when lead is null then 0 else rooms end, coalesce(rooms * lead, 0)
  from arrival
),
total as (
  select property_id, night, currency_code, sum(arrivals) as arrivals, sum(departures) as departures,
    sum(stay_throughs) as stay_throughs, sum(cancelled) as cancelled, sum(cancelled_revenue) as cancelled_revenue,
    sum(cancelled_days) as cancelled_days, sum(no_shows) as no_shows, sum(no_show_revenue) as no_show_revenue,
    sum(stay_rooms) as stay_rooms, sum(stay_nights) as stay_nights, sum(lead_rooms) as lead_rooms, sum(lead_days) as lead_days,
    nullif(sum(arrivals) + sum(stay_throughs) + sum(cancelled) + sum(no_shows), 0) as booked
  from part
  group by property_id, night, currency_code
  having sum(arrivals) <> 0 or sum(departures) <> 0 or sum(stay_throughs) <> 0 or sum(cancelled) <> 0 or sum(no_shows) <> 0
)
select property.client_code, property.property_code, total.night, total.currency_code, arrivals::integer, departures::integer,
  stay_throughs::integer, round(stay_nights / nullif(stay_rooms, 0), 2), round(lead_days / nullif(lead_rooms, 0), 2),
  cancelled::integer, trim_scale(cancelled_revenue), round(cancelled_days / nullif(cancelled, 0), 2), round(cancelled / booked, 4),
  no_shows::integer, trim_scale(no_show_revenue), round(no_shows / booked, 4),
  stay_rooms::integer, stay_nights::bigint, lead_rooms::integer, lead_days::bigint, cancelled_days::bigint
from total
join property using (property_id)
$function$;
CREATE OR REPLACE FUNCTION analytics.night_on_the_books_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text, first_date date DEFAULT NULL::date, last_date date DEFAULT NULL::date)
 RETURNS TABLE(client_code text, property_code text, stay_date date, reservation_id text, share_id text, status text, room_type_code text, booked_room_type_code text, market_segment_code text, group_block_code text, rate_code text, channel text, currency_code text, rooms integer, adults integer, children integer, room_revenue numeric, gross_room_revenue numeric)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$with 
-- What is counted of the ledger, by the rules of docs/figures.md, as of an instant: the property or properties, what their statuses mean, and
-- their entries with a night of the range, in the states that are asked.
property as materialized (
  select stored.property_id, stored.bucket, client_code, property_code, settings.time_zone, settings.currency_code,
    make_interval(mins => analytics.minutes_after_midnight(settings.business_day_end)) as day_end
  from analytics.property as settings
  join analytics.stored_property as stored using (client_code, property_code)
  where (of_client_code is null or client_code = of_client_code)
    and (of_property_code is null or property_code = of_property_code)
),
meaning as materialized (
  select client_code, property_code, status, meaning, on_the_books
  from analytics.status_meaning as used
  where used.resource = 'reservations' and used.on_the_books is not null
    and (of_client_code is null or used.client_code = of_client_code)
    and (of_property_code is null or used.property_code = of_property_code)
),
kind as materialized (
  select dimension.property_id, dimension.dimension, dimension.status, dimension.room_type_code, dimension.booked_room_type_code,
    dimension.market_segment_code, dimension.group_block_code, dimension.rate_code, dimension.channel,
    coalesce(dimension.currency_code, property.currency_code) as currency_code, dimension.currency_code as own_currency_code,
    case
      when meaning.on_the_books then 'books'
      when meaning.meaning = 'NO_SHOW' then 'no-show'
      when meaning.meaning is distinct from 'WAITLISTED' then 'cancelled'
    end as state
  from property
  join analytics.stored_night_dimension as dimension
    on dimension.bucket = property.bucket and dimension.property_id = property.property_id 
  join meaning
    on meaning.client_code = property.client_code and meaning.property_code = property.property_code
    and meaning.status = dimension.status
  where coalesce(dimension.cause = 'posted', true)
),
run as materialized (

-- Entries of properties with a night of a range, in rows and in runs of deltas. Plan: bitmap scans of the indexes of short entries (up to 31
-- nights, so with a first night from 30 nights before the range) and of long ones.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from analytics.stored_night_entry as t
where property_id = any (array(select property_id from property)) and nights <= 31 
  and first_night between (coalesce(first_date, '-infinity')) - 30 and coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity'))
union all
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from analytics.stored_night_entry as t
where property_id = any (array(select property_id from property)) and nights > 31
  and first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity'))
union all
select * from (
  with delta as (
    select * from analytics.stored_ledger_delta as t
    where property_id = any (array(select property_id from property)) and nights <= 31 
      and first_night between (coalesce(first_date, '-infinity')) - 30 and coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity'))
    union all
    select * from analytics.stored_ledger_delta as t
    where property_id = any (array(select property_id from property)) and nights > 31
      and first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity'))
  )
  
-- Expands rows of ledger_delta, here named `delta`, into rows as in night_entry. A run is four bigints, packed by
-- src/apply/ledger/write-ledger.ts; a row has at most 62 runs.
-- The start positions are unnested in the select list, so that conditions on times are pushed below it: a lateral join takes a
-- quarter longer. They are a literal because the planner expects 10 rows of an array, but 1,000 of generate_series.
select
  source_time, received_at, dimension, property_id,
  date '1970-01-01' + (nights_and_counts >> 38)::integer as first_night,
  (nights_and_counts >> 32 & 63)::integer as nights,
  (nights_and_counts >> 22 & 1023)::integer - 512 as rooms,
  (nights_and_counts >> 11 & 2047)::integer - 1024 as adults,
  (nights_and_counts & 2047)::integer - 1024 as children,
  bucket,
  nullif(revenue, -9223372036854775808) * 0.0001 as room_revenue,
  nullif(gross_revenue, -9223372036854775808) * 0.0001 as gross_room_revenue,
  key, null::text collate "C" as share_id
from (
  select
    source_time, received_at, property_id, bucket, key,
    runs[unnest(places[:cardinality(runs) / 4])] as dimension,
    runs[unnest(places[:cardinality(runs) / 4]) + 1] as nights_and_counts,
    runs[unnest(places[:cardinality(runs) / 4]) + 2] as revenue,
    runs[unnest(places[:cardinality(runs) / 4]) + 3] as gross_revenue
  from delta
  cross join (
    select '{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81,
      85, 89, 93, 97, 101, 105, 109, 113, 117, 121, 125, 129, 133, 137, 141, 145, 149, 153, 157, 161, 165,
      169, 173, 177, 181, 185, 189, 193, 197, 201, 205, 209, 213, 217, 221, 225, 229, 233, 237, 241, 245}'::integer[] as places
  ) as longest
) as laid_out

) as run
where first_night <= coalesce(last_date, 'infinity') and first_night + nights > (coalesce(first_date, '-infinity'))

),
entry as materialized (
  select kind.*, run.key, run.share_id, run.rooms, run.adults, run.children, run.room_revenue, run.gross_room_revenue, run.source_time,
    greatest(run.first_night, (coalesce(first_date, '-infinity'))) as first_night, least(run.first_night + run.nights, coalesce(last_date, 'infinity') + 1) as end_night
  from run
  join kind on kind.property_id = run.property_id and kind.dimension = run.dimension
  where kind.state = any ('{books}') and case clock when 'source' then run.source_time else run.received_at end <= instant
)
,
counted as materialized (
  select property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    channel, currency_code, own_currency_code, key, share_id, first_night + passed as night,
    sum(rooms) as rooms, sum(adults) as adults, sum(children) as children, sum(room_revenue) as room_revenue,
    sum(gross_room_revenue) as gross_room_revenue, coalesce(sum(rooms) filter (where room_revenue is not null), 0) as priced_rooms,
    coalesce(sum(rooms) filter (where gross_room_revenue is not null), 0) as gross_priced_rooms
  from entry
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    channel, currency_code, own_currency_code, key, share_id, first_night + passed
),
-- The first sharer has as many rooms as the most that any names; those beyond its own count in its first kind of stay, as in
-- src/insight/sql/parts/settled-shares.sql.
sharer as (
  select property_id, share_id, night, key, dimension, sum(rooms) over own as named, min(key) over shared as holder,
    row_number() over (own order by room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
      channel, own_currency_code, dimension) as place
  from counted
  where share_id is not null and rooms <> 0
  window shared as (partition by property_id, share_id, night), own as (partition by property_id, share_id, night, key)
),
settled as (
  select property_id, share_id, night, key, dimension,
    case when key <> holder then -named when place = 1 then max(named) over (partition by property_id, share_id, night) - named
      else 0 end as more, key = holder as has_rooms
  from sharer
)
select property.client_code, property.property_code, counted.night, counted.key, counted.share_id, counted.status,
  counted.room_type_code, counted.booked_room_type_code, counted.market_segment_code, counted.group_block_code,
  counted.rate_code, counted.channel, counted.currency_code,
  case when settled.has_rooms is false then 0 else counted.rooms + coalesce(settled.more, 0) end::integer,
  counted.adults::integer, counted.children::integer,
  case when counted.priced_rooms <> 0 or counted.room_revenue <> 0 then trim_scale(counted.room_revenue) end,
  case when counted.gross_priced_rooms <> 0 or counted.gross_room_revenue <> 0 then trim_scale(counted.gross_room_revenue) end
from counted
join property using (property_id)
left join settled using (property_id, share_id, night, key, dimension)
where counted.rooms <> 0 or counted.adults <> 0 or counted.children <> 0 or counted.room_revenue <> 0 or counted.gross_room_revenue <> 0
$function$;
CREATE OR REPLACE FUNCTION analytics.received_at_of(request_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ('1970-01-01 00:00:00+00'::timestamp with time zone + ('00:00:00.000001'::interval * ((((((('x'::text || substr((request_id)::text, 1, 8)) || substr((request_id)::text, 10, 4)))::bit(48))::bigint * 1000) + ((((('x'::text || substr((request_id)::text, 16, 3)))::bit(12))::integer * 1000) / 4096)))::double precision));
CREATE OR REPLACE FUNCTION analytics.reservation_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.reservation
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as reservation_id,
        record.status,
        record.from_date as arrival_date,
        record.to_date as departure_date,
        facts.confirmation_number,
        facts.booking_time,
        facts.number_of_rooms,
        facts.multi_reservation_id,
        facts.share_id,
        facts.cancellation_time,
        facts.channel,
        facts.nationality,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'r' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_reservation_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_reservation_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      $function$;
CREATE OR REPLACE FUNCTION analytics.revenue_without_night_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.revenue_without_night
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as reservation_id,
        extra.stay_number,
        extra.occupancy_date,
        extra.cause,
        record.status,
        facts.share_id,
        record.from_date as reservation_arrival_date,
        record.to_date as reservation_departure_date,
        extra.room_type_code,
        extra.booked_room_type_code,
        extra.market_segment_code,
        extra.group_block_code,
        extra.source_booking_code,
        extra.currency_code,
        extra.rate_code,
        extra.rooms,
        extra.net_room_revenue,
        extra.room_revenue,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'r' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_reservation_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_reservation_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral (
        select coalesce(max(nights), 0) <= 1100 and coalesce(sum(nights), 0) <= 11000 as is_counted,
          count(*) filter (where nights > 0) as stays
        from (
          select greatest(departure_date - arrival_date, 0) as nights
          from unnest(facts.arrival_date, facts.departure_date) as sent (arrival_date, departure_date)
        ) as stay
      ) as size
      cross join lateral (
        select coalesce(sum(within.changes), 0) <= 2 * (size.stays + coalesce(max(posted.days), 0)) + 50 as leaves_rates
        from (
          select day, count(*) over () as days, lag(day) over dates is distinct from day - 1 as begins,
            lead(day) over dates is distinct from day + 1 as ends
          from (
            select sent.revenue_date as day
            from unnest(
              case when cardinality(facts.arrival_date) > 1 and cardinality(facts.revenue_date) > 1 then facts.revenue_date end,
              facts.net_room_revenue
            ) as sent (revenue_date, net_room_revenue)
            where sent.revenue_date is not null and sent.net_room_revenue is not null
            group by sent.revenue_date
          ) as reported
          window dates as (order by day)
        ) as posted
        cross join lateral (
          select count(*) filter (where posted.begins and stay.arrival_date < posted.day and posted.day < stay.departure_date)
            + count(*) filter (where posted.ends and stay.arrival_date <= posted.day and posted.day + 1 < stay.departure_date) as changes
          from unnest(facts.arrival_date, facts.departure_date) as stay (arrival_date, departure_date)
        ) as within
      ) as revenue
      cross join lateral (
        select case when part.number = 1 then stay.arrival_date else facts.arrival_date[1] end as arrival_date, case when part.number = 1 then stay.departure_date else facts.departure_date[1] end as departure_date, case when part.number = 1 then stay.room_type_code else facts.room_type_code[1] end as room_type_code, case when part.number = 1 then stay.booked_room_type_code else facts.booked_room_type_code[1] end as booked_room_type_code, case when part.number = 1 then stay.market_segment_code else facts.market_segment_code[1] end as market_segment_code, case when part.number = 1 then stay.group_block_code else facts.group_block_code[1] end as group_block_code, case when part.number = 1 then stay.source_booking_code else facts.source_booking_code[1] end as source_booking_code, case when part.number = 1 then stay.currency_code else facts.currency_code[1] end as currency_code, case when part.number = 1 then stay.rate_code else facts.rate_code[1] end as rate_code,
          coalesce(stay.stay_number, 1) as stay_number, coalesce(stay.rooms, 0) as rooms,
          case when part.number = 1 then 'dayUse' else 'outsideStay' end as cause,
          coalesce(outside.revenue_date, stay.arrival_date) as occupancy_date,
          coalesce(outside.net_room_revenue, stay.net_room_revenue) as net_room_revenue,
          coalesce(outside.net_room_revenue, stay.room_revenue) as room_revenue
        from generate_series(1, 2) as part (number)
        left join lateral (
          select stay.arrival_date, stay.departure_date, stay.room_type_code, stay.booked_room_type_code, stay.market_segment_code, stay.group_block_code, stay.source_booking_code, stay.currency_code, stay.rate_code, stay.stay_number, stay.rooms,
            case when stay.turn = 1 and not is_night then day.net_room_revenue end as net_room_revenue,
            case
              when day.net_room_revenue is not null then case when stay.turn = 1 and not is_night then day.net_room_revenue end
              when stay.rooms > 0 and revenue.leaves_rates then rate.rate_value * stay.rooms
            end as room_revenue
          from (
            select counted.*, case
            when turn > greatest(coalesce(facts.number_of_rooms, 1), case when facts.share_id is null then 0 else 1 end) then 0
            when turn = 1 then greatest(greatest(coalesce(facts.number_of_rooms, 1), 1) - stays::integer + 1, 1)
            else 1
          end as rooms
            from (
              select named.*, count(*) over (partition by named.arrival_date) as stays,
                row_number() over (partition by named.arrival_date order by named.is_repeat, named.stay_number) as turn
              from (
                select unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code, unnested.market_segment_code, unnested.group_block_code, unnested.source_booking_code, unnested.currency_code, unnested.rate_code, unnested.place::integer as stay_number,
                  row_number() over (
                partition by unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code,
                  unnested.market_segment_code, unnested.group_block_code, unnested.rate_code, unnested.currency_code,
                  greatest(unnested.number_of_adults, 0), greatest(unnested.number_of_children, 0)
                order by unnested.place
              ) > 1 as is_repeat
                from unnest(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.currency_code, facts.rate_code, facts.number_of_adults, facts.number_of_children) with ordinality as unnested (arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, currency_code, rate_code, number_of_adults, number_of_children, place)
                where unnested.departure_date = unnested.arrival_date
              ) as named
            ) as counted
          ) as stay
          cross join lateral (
            select count(*) > 0 as is_night
            from unnest(facts.arrival_date, facts.departure_date) as other (arrival_date, departure_date)
            where other.arrival_date <= stay.arrival_date and stay.arrival_date < other.departure_date
          ) as other
          left join (
            select sent.revenue_date, sum(sent.net_room_revenue) as net_room_revenue
          from unnest(facts.revenue_date, facts.net_room_revenue) as sent (revenue_date, net_room_revenue)
          group by sent.revenue_date
          ) as day on day.revenue_date = stay.arrival_date
          left join lateral (
            select sent.rate_value
            from unnest(facts.rate_stay_index, facts.rate_start_date, facts.rate_end_date, facts.rate_value
            ) with ordinality as sent (stay_index, start_date, end_date, rate_value, place)
            where sent.stay_index = stay.stay_number - 1
              and stay.arrival_date between coalesce(sent.start_date, '-infinity') and coalesce(sent.end_date, 'infinity')
            order by sent.place desc
            limit 1
          ) as rate on true
        ) as stay on part.number = 1
        left join lateral (
          select *
          from (
          select day.revenue_date, day.net_room_revenue, count(*) over () as dates
          from (
            select sent.revenue_date, sum(sent.net_room_revenue) as net_room_revenue
          from unnest(facts.revenue_date, facts.net_room_revenue) as sent (revenue_date, net_room_revenue)
          group by sent.revenue_date
          ) as day
          cross join lateral (
            select count(*) as stays
            from unnest(facts.arrival_date, facts.departure_date) as stay (arrival_date, departure_date)
            where day.revenue_date = stay.arrival_date
              or day.revenue_date > stay.arrival_date and day.revenue_date < stay.departure_date
          ) as covered
          where day.net_room_revenue <> 0 and covered.stays = 0
          ) as beyond
          where beyond.dates <= 1100
        ) as outside on part.number = 2
        where stay.stay_number is not null or outside.revenue_date is not null
      ) as extra
      where size.is_counted and (extra.rooms > 0 or extra.room_revenue is not null)$function$;
CREATE OR REPLACE FUNCTION analytics.room_stay_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.room_stay
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as reservation_id,
        stay.place::integer as stay_number,
        record.status,
        facts.number_of_rooms,
        stay.departure_date - stay.arrival_date as nights,
        stay.arrival_date,
        stay.departure_date,
        stay.room_type_code,
        stay.booked_room_type_code,
        stay.market_segment_code,
        stay.group_block_code,
        stay.source_booking_code,
        stay.number_of_adults,
        stay.number_of_children,
        stay.currency_code,
        stay.rate_code,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'r' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_reservation_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_reservation_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral unnest(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.number_of_adults, facts.number_of_children, facts.currency_code, facts.rate_code) with ordinality as stay (arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, number_of_adults, number_of_children, currency_code, rate_code, place)$function$;
CREATE OR REPLACE FUNCTION analytics.room_type_inventory_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.room_type_inventory
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        facts.occupancy_date,
        room.room_type_code,
        room.room_type_capacity,
        room.rooms_not_available_maintenance,
        room.rooms_not_available_other,
        room.rooms_sold,
        room.transient_sold,
        room.group_sold,
        room.is_virtual,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'i' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_inventory_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_inventory_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral unnest(facts.room_type_code, facts.room_type_capacity, facts.rooms_not_available_maintenance, facts.rooms_not_available_other, facts.rooms_sold, facts.transient_sold, facts.group_sold, facts.is_virtual) as room (room_type_code, room_type_capacity, rooms_not_available_maintenance, rooms_not_available_other, rooms_sold, transient_sold, group_sold, is_virtual)$function$;
CREATE OR REPLACE FUNCTION analytics.stay_night_as_of(instant timestamp with time zone, clock analytics.clock DEFAULT 'source'::analytics.clock, of_client_code text DEFAULT NULL::text, of_property_code text DEFAULT NULL::text)
 RETURNS SETOF analytics.stay_night
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select
        property.client_code,
        property.property_code,
        record.key as reservation_id,
        night.stay_number,
        night.occupancy_date,
        record.status,
        facts.number_of_rooms,
        facts.share_id,
        record.from_date as reservation_arrival_date,
        record.to_date as reservation_departure_date,
        night.arrival_date,
        night.departure_date,
        night.room_type_code,
        night.booked_room_type_code,
        night.market_segment_code,
        night.group_block_code,
        night.source_booking_code,
        night.number_of_adults,
        night.number_of_children,
        night.currency_code,
        night.rate_code,
        night.rate_value,
        night.gross_rate_value,
        night.net_room_revenue,
        night.net_food_revenue,
        night.net_beverage_revenue,
        night.net_other_revenue,
        night.net_ticket_price,
        night.ticket_price,
        night.net_total_revenue,
        night.gross_total_revenue,
        night.rooms,
        least(greatest(night.number_of_adults, 0)::bigint * night.rooms, 2147483647) as adults,
        least(greatest(night.number_of_children, 0)::bigint * night.rooms, 2147483647) as children,
        case
          when night.has_daily_revenue then case when night.rooms > 0 or night.net_room_revenue <> 0 then night.net_room_revenue end
          when night.rooms > 0 and revenue.leaves_rates then night.rate_value * night.rooms
        end as room_revenue,
        case when night.rooms > 0 and revenue.leaves_rates then night.gross_rate_value * night.rooms end as gross_room_revenue,
        record.source_time,
        analytics.received_at_of(record.request_id) as received_at
      from analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = 'r' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) 
      cross join lateral (
        select version.*
        from analytics.stored_reservation_version as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record
      join analytics.stored_reservation_version as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash 
      cross join lateral (
        select coalesce(max(nights), 0) <= 1100 and coalesce(sum(nights), 0) <= 11000 as is_counted,
          count(*) filter (where nights > 0) as stays
        from (
          select greatest(departure_date - arrival_date, 0) as nights
          from unnest(facts.arrival_date, facts.departure_date) as sent (arrival_date, departure_date)
        ) as stay
      ) as size
      cross join lateral (
        select coalesce(sum(within.changes), 0) <= 2 * (size.stays + coalesce(max(posted.days), 0)) + 50 as leaves_rates
        from (
          select day, count(*) over () as days, lag(day) over dates is distinct from day - 1 as begins,
            lead(day) over dates is distinct from day + 1 as ends
          from (
            select sent.revenue_date as day
            from unnest(
              case when cardinality(facts.arrival_date) > 1 and cardinality(facts.revenue_date) > 1 then facts.revenue_date end,
              facts.net_room_revenue
            ) as sent (revenue_date, net_room_revenue)
            where sent.revenue_date is not null and sent.net_room_revenue is not null
            group by sent.revenue_date
          ) as reported
          window dates as (order by day)
        ) as posted
        cross join lateral (
          select count(*) filter (where posted.begins and stay.arrival_date < posted.day and posted.day < stay.departure_date)
            + count(*) filter (where posted.ends and stay.arrival_date <= posted.day and posted.day + 1 < stay.departure_date) as changes
          from unnest(facts.arrival_date, facts.departure_date) as stay (arrival_date, departure_date)
        ) as within
      ) as revenue
      cross join lateral (
        -- All of one reservation's nights at once, so that dates meet their revenue in a hash join.
        select stay_date.*, rate.rate_value, rate.gross_rate_value, day.net_room_revenue is not null as has_daily_revenue,
          case when turn = 1 then day.net_room_revenue end as net_room_revenue,
          case when turn = 1 then day.net_food_revenue end as net_food_revenue,
          case when turn = 1 then day.net_beverage_revenue end as net_beverage_revenue,
          case when turn = 1 then day.net_other_revenue end as net_other_revenue,
          case when turn = 1 then day.net_ticket_price end as net_ticket_price,
          case when turn = 1 then day.ticket_price end as ticket_price,
          case when turn = 1 then day.net_total_revenue end as net_total_revenue,
          case when turn = 1 then day.gross_total_revenue end as gross_total_revenue,
          case
            when turn > greatest(coalesce(facts.number_of_rooms, 1), case when facts.share_id is null then 0 else 1 end) then 0
            when turn = 1 then greatest(greatest(coalesce(facts.number_of_rooms, 1), 1) - stays::integer + 1, 1)
            else 1
          end as rooms
        from (
          select stay.*, stay.arrival_date + nights.passed as occupancy_date,
            row_number() over (
              partition by stay.arrival_date + nights.passed order by stay.is_repeat, stay.arrival_date desc, stay.stay_number
            ) as turn,
            count(*) over (partition by stay.arrival_date + nights.passed) as stays
          from (
            select unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code, unnested.market_segment_code, unnested.group_block_code, unnested.source_booking_code, unnested.number_of_adults, unnested.number_of_children, unnested.currency_code, unnested.rate_code, unnested.place::integer as stay_number,
              row_number() over (
                partition by unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code,
                  unnested.market_segment_code, unnested.group_block_code, unnested.rate_code, unnested.currency_code,
                  greatest(unnested.number_of_adults, 0), greatest(unnested.number_of_children, 0)
                order by unnested.place
              ) > 1 as is_repeat
            from unnest(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.number_of_adults, facts.number_of_children, facts.currency_code, facts.rate_code) with ordinality as unnested (arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, number_of_adults, number_of_children, currency_code, rate_code, place)
          ) as stay
          cross join lateral generate_series(
            0, case when size.is_counted then stay.departure_date - stay.arrival_date - 1 end
          ) as nights (passed)
        ) as stay_date
        left join (
          select sent.revenue_date, sum(sent.net_room_revenue) as net_room_revenue, sum(sent.net_food_revenue) as net_food_revenue, sum(sent.net_beverage_revenue) as net_beverage_revenue, sum(sent.net_other_revenue) as net_other_revenue, sum(sent.net_ticket_price) as net_ticket_price, sum(sent.ticket_price) as ticket_price, sum(sent.net_total_revenue) as net_total_revenue, sum(sent.gross_total_revenue) as gross_total_revenue
          from unnest(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue, facts.net_beverage_revenue, facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price, facts.net_total_revenue, facts.gross_total_revenue) as sent (revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue, net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue)
          group by sent.revenue_date
        ) as day on day.revenue_date = stay_date.occupancy_date
        left join lateral (
          select sent.rate_value, sent.gross_rate_value
          from unnest(facts.rate_start_date, facts.rate_end_date, facts.rate_value, facts.gross_rate_value, facts.rate_stay_index) with ordinality as sent (rate_start_date, rate_end_date, rate_value, gross_rate_value, rate_stay_index, place)
          where sent.rate_stay_index = stay_date.stay_number - 1
            and stay_date.occupancy_date between coalesce(sent.rate_start_date, '-infinity') and coalesce(sent.rate_end_date, 'infinity')
          order by sent.place desc
          limit 1
        ) as rate on true
      ) as night$function$;
CREATE OR REPLACE FUNCTION bellhop.count_warned(details json)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ((octet_length((details)::text) - octet_length(replace((details)::text, '"warnings":'::text, ''::text))) / octet_length('"warnings":'::text));
CREATE OR REPLACE FUNCTION bellhop.facts_of(facts text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$select facts::text[]$function$;
CREATE OR REPLACE FUNCTION bellhop.list_of(list text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (('{'::text || CASE WHEN ("right"(list, 1) = ','::text) THEN (rtrim(list, ','::text) || repeat((','::text || rtrim(list, ','::text)), (octet_length(list) - octet_length(rtrim(list, ','::text))))) ELSE list END) || '}'::text);
CREATE OR REPLACE FUNCTION bellhop.note_late_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  execute format('insert into %s select ($1).*', tg_argv[0]) using new;
  return null;
end
$function$;

create view analytics.daily_revenue as
 SELECT property.client_code,
    property.property_code,
    record.key AS reservation_id,
    sent.revenue_date AS occupancy_date,
    record.status,
    sent.net_room_revenue,
    sent.net_food_revenue,
    sent.net_beverage_revenue,
    sent.net_other_revenue,
    sent.net_ticket_price,
    sent.ticket_price,
    sent.net_total_revenue,
    sent.gross_total_revenue,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'r'::"char"
     JOIN analytics.stored_reservation_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL UNNEST(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue, facts.net_beverage_revenue, facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price, facts.net_total_revenue, facts.gross_total_revenue) sent(revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue, net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue);
create view analytics.default_status as
 SELECT resource,
    spelling,
    meaning,
    on_the_books
   FROM ( VALUES ('reservations'::text,'RESERVED'::text,'RESERVED'::text,true), ('reservations'::text,'RESERVE'::text,'RESERVED'::text,true), ('reservations'::text,'BOOKED'::text,'RESERVED'::text,true), ('reservations'::text,'DUEIN'::text,'RESERVED'::text,true), ('reservations'::text,'RES'::text,'RESERVED'::text,true), ('reservations'::text,'CONFIRMED'::text,'CONFIRMED'::text,true), ('reservations'::text,'CONFIRM'::text,'CONFIRMED'::text,true), ('reservations'::text,'CONF'::text,'CONFIRMED'::text,true), ('reservations'::text,'GUARANTEED'::text,'CONFIRMED'::text,true), ('reservations'::text,'INHOUSE'::text,'IN_HOUSE'::text,true), ('reservations'::text,'RESIDENT'::text,'IN_HOUSE'::text,true), ('reservations'::text,'DUEOUT'::text,'IN_HOUSE'::text,true), ('reservations'::text,'CHECKEDIN'::text,'CHECKED_IN'::text,true), ('reservations'::text,'CHECKIN'::text,'CHECKED_IN'::text,true), ('reservations'::text,'ARRIVED'::text,'CHECKED_IN'::text,true), ('reservations'::text,'CHECKEDOUT'::text,'CHECKED_OUT'::text,true), ('reservations'::text,'CHECKOUT'::text,'CHECKED_OUT'::text,true), ('reservations'::text,'DEPARTED'::text,'CHECKED_OUT'::text,true), ('reservations'::text,'CANCELLED'::text,'CANCELLED'::text,false), ('reservations'::text,'CANCELED'::text,'CANCELLED'::text,false), ('reservations'::text,'CANCEL'::text,'CANCELLED'::text,false), ('reservations'::text,'CANCELLATION'::text,'CANCELLED'::text,false), ('reservations'::text,'CXL'::text,'CANCELLED'::text,false), ('reservations'::text,'CXLD'::text,'CANCELLED'::text,false), ('reservations'::text,'NOSHOW'::text,'NO_SHOW'::text,false), ('reservations'::text,'NOSHOWED'::text,'NO_SHOW'::text,false), ('reservations'::text,'WAITLISTED'::text,'WAITLISTED'::text,false), ('reservations'::text,'WAITLIST'::text,'WAITLISTED'::text,false), ('groups'::text,'DEFINITE'::text,'DEFINITE'::text,true), ('groups'::text,'DEF'::text,'DEFINITE'::text,true), ('groups'::text,'TENTATIVE'::text,'TENTATIVE'::text,false), ('groups'::text,'TENT'::text,'TENTATIVE'::text,false), ('groups'::text,'TEN'::text,'TENTATIVE'::text,false), ('groups'::text,'PROSPECT'::text,'PROSPECT'::text,false), ('groups'::text,'PROSPECTIVE'::text,'PROSPECT'::text,false), ('groups'::text,'PROS'::text,'PROSPECT'::text,false), ('groups'::text,'CANCELLED'::text,'CANCELLED'::text,false), ('groups'::text,'CANCELED'::text,'CANCELLED'::text,false), ('groups'::text,'CANCEL'::text,'CANCELLED'::text,false), ('groups'::text,'CANCELLATION'::text,'CANCELLED'::text,false), ('groups'::text,'CXL'::text,'CANCELLED'::text,false), ('groups'::text,'CAN'::text,'CANCELLED'::text,false), ('groups'::text,'LOST'::text,'LOST'::text,false), ('groups'::text,'LOS'::text,'LOST'::text,false)) known(resource, spelling, meaning, on_the_books);
create view analytics.group_block_master as
 SELECT property.client_code,
    property.property_code,
    record.key AS group_code,
    record.status,
    facts.master_group_code,
    facts.name,
    facts.booking_date,
    facts.start_date,
    facts.end_date,
    facts.cutoff_days,
    facts.cutoff_date,
    facts.group_type_code,
    facts.pickup_type_code,
    facts.market_segment_code,
    facts.rate_code,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'g'::"char"
     JOIN analytics.stored_group_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash;
create view analytics.group_block_night as
 SELECT property.client_code,
    property.property_code,
    record.key AS group_code,
    record.status,
    block.occupancy_date,
    block.room_type_code,
    block.blocks,
    block.pickup,
    block.original_blocks,
    block.single_person_rate,
    block.two_person_rate,
    block.currency_code,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'g'::"char"
     JOIN analytics.stored_group_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL UNNEST(facts.occupancy_date, facts.room_type_code, facts.blocks, facts.pickup, facts.original_blocks, facts.single_person_rate, facts.two_person_rate, facts.currency_code) block(occupancy_date, room_type_code, blocks, pickup, original_blocks, single_person_rate, two_person_rate, currency_code);
create view analytics.movement as
 SELECT counted.client_code,
    counted.property_code,
    counted.stay_date,
    counted.currency_code,
    counted.arrivals,
    counted.departures,
    counted.stay_throughs,
    counted.length_of_stay,
    counted.lead_days,
    counted.cancelled_rooms,
    counted.cancelled_room_revenue,
    counted.cancelled_lead_days,
    counted.cancellation_rate,
    counted.no_show_rooms,
    counted.no_show_room_revenue,
    counted.no_show_rate,
    counted.stay_rooms,
    counted.stay_nights,
    counted.lead_rooms,
    counted.lead_room_days,
    counted.cancelled_room_days
   FROM analytics.stored_property property
     CROSS JOIN LATERAL analytics.movement_as_of('infinity'::timestamp with time zone, 'source'::analytics.clock, property.client_code, property.property_code) counted(client_code, property_code, stay_date, currency_code, arrivals, departures, stay_throughs, length_of_stay, lead_days, cancelled_rooms, cancelled_room_revenue, cancelled_lead_days, cancellation_rate, no_show_rooms, no_show_room_revenue, no_show_rate, stay_rooms, stay_nights, lead_rooms, lead_room_days, cancelled_room_days);
create view analytics.night_on_the_books as
 SELECT counted.client_code,
    counted.property_code,
    counted.stay_date,
    counted.reservation_id,
    counted.share_id,
    counted.status,
    counted.room_type_code,
    counted.booked_room_type_code,
    counted.market_segment_code,
    counted.group_block_code,
    counted.rate_code,
    counted.channel,
    counted.currency_code,
    counted.rooms,
    counted.adults,
    counted.children,
    counted.room_revenue,
    counted.gross_room_revenue
   FROM analytics.stored_property property
     CROSS JOIN LATERAL analytics.night_on_the_books_as_of('infinity'::timestamp with time zone, 'source'::analytics.clock, property.client_code, property.property_code) counted(client_code, property_code, stay_date, reservation_id, share_id, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code, channel, currency_code, rooms, adults, children, room_revenue, gross_room_revenue);
create view analytics.property as
 SELECT property.client_code,
    property.property_code,
    setting.name,
    setting.city,
    COALESCE(setting.time_zone, 'UTC'::text) AS time_zone,
    COALESCE(setting.business_day_end, '00:00'::text) AS business_day_end,
    analytics.business_day_of(now(), COALESCE(setting.time_zone, 'UTC'::text), COALESCE(setting.business_day_end, '00:00'::text)) AS business_day,
    setting.currency_code,
    COALESCE(setting.occupancy_base, 'capacity'::text) AS occupancy_base
   FROM bellhop.property
     CROSS JOIN LATERAL ( SELECT max(effective.value) FILTER (WHERE effective.name = 'name'::text) AS name,
            max(effective.value) FILTER (WHERE effective.name = 'city'::text) AS city,
            max(effective.value) FILTER (WHERE effective.name = 'timeZone'::text) AS time_zone,
            max(effective.value) FILTER (WHERE effective.name = 'businessDayEnd'::text) AS business_day_end,
            max(effective.value) FILTER (WHERE effective.name = 'currency'::text) AS currency_code,
            max(effective.value) FILTER (WHERE effective.name = 'occupancyBase'::text) AS occupancy_base
           FROM ( SELECT DISTINCT ON (of_client.name) of_client.name,
                    of_client.value
                   FROM bellhop.property_setting of_client
                  WHERE of_client.client_code = property.client_code AND (of_client.property_code IS NULL OR of_client.property_code = property.property_code)
                  ORDER BY of_client.name, of_client.property_code) effective) setting;
create view analytics.reservation as
 SELECT property.client_code,
    property.property_code,
    record.key AS reservation_id,
    record.status,
    record.from_date AS arrival_date,
    record.to_date AS departure_date,
    facts.confirmation_number,
    facts.booking_time,
    facts.number_of_rooms,
    facts.multi_reservation_id,
    facts.share_id,
    facts.cancellation_time,
    facts.channel,
    facts.nationality,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'r'::"char"
     JOIN analytics.stored_reservation_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash;
create view analytics.revenue_without_night as
 SELECT property.client_code,
    property.property_code,
    record.key AS reservation_id,
    extra.stay_number,
    extra.occupancy_date,
    extra.cause,
    record.status,
    facts.share_id,
    record.from_date AS reservation_arrival_date,
    record.to_date AS reservation_departure_date,
    extra.room_type_code,
    extra.booked_room_type_code,
    extra.market_segment_code,
    extra.group_block_code,
    extra.source_booking_code,
    extra.currency_code,
    extra.rate_code,
    extra.rooms,
    extra.net_room_revenue,
    extra.room_revenue,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'r'::"char"
     JOIN analytics.stored_reservation_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL ( SELECT COALESCE(max(stay.nights), 0) <= 1100 AND COALESCE(sum(stay.nights), 0::bigint) <= 11000 AS is_counted,
            count(*) FILTER (WHERE stay.nights > 0) AS stays
           FROM ( SELECT GREATEST(sent.departure_date - sent.arrival_date, 0) AS nights
                   FROM UNNEST(facts.arrival_date, facts.departure_date) sent(arrival_date, departure_date)) stay) size
     CROSS JOIN LATERAL ( SELECT COALESCE(sum(within.changes), 0::numeric) <= (2 * (size.stays + COALESCE(max(posted.days), 0::bigint)) + 50)::numeric AS leaves_rates
           FROM ( SELECT reported.day,
                    count(*) OVER () AS days,
                    lag(reported.day) OVER dates IS DISTINCT FROM (reported.day - 1) AS begins,
                    lead(reported.day) OVER dates IS DISTINCT FROM (reported.day + 1) AS ends
                   FROM ( SELECT sent.revenue_date AS day
                           FROM UNNEST(
                                CASE
                                    WHEN cardinality(facts.arrival_date) > 1 AND cardinality(facts.revenue_date) > 1 THEN facts.revenue_date
                                    ELSE NULL::date[]
                                END, facts.net_room_revenue) sent(revenue_date, net_room_revenue)
                          WHERE sent.revenue_date IS NOT NULL AND sent.net_room_revenue IS NOT NULL
                          GROUP BY sent.revenue_date) reported
                  WINDOW dates AS (ORDER BY reported.day)) posted
             CROSS JOIN LATERAL ( SELECT count(*) FILTER (WHERE posted.begins AND stay.arrival_date < posted.day AND posted.day < stay.departure_date) + count(*) FILTER (WHERE posted.ends AND stay.arrival_date <= posted.day AND (posted.day + 1) < stay.departure_date) AS changes
                   FROM UNNEST(facts.arrival_date, facts.departure_date) stay(arrival_date, departure_date)) within) revenue
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN part.number = 1 THEN stay.arrival_date
                    ELSE facts.arrival_date[1]
                END AS arrival_date,
                CASE
                    WHEN part.number = 1 THEN stay.departure_date
                    ELSE facts.departure_date[1]
                END AS departure_date,
                CASE
                    WHEN part.number = 1 THEN stay.room_type_code
                    ELSE facts.room_type_code[1]
                END AS room_type_code,
                CASE
                    WHEN part.number = 1 THEN stay.booked_room_type_code
                    ELSE facts.booked_room_type_code[1]
                END AS booked_room_type_code,
                CASE
                    WHEN part.number = 1 THEN stay.market_segment_code
                    ELSE facts.market_segment_code[1]
                END AS market_segment_code,
                CASE
                    WHEN part.number = 1 THEN stay.group_block_code
                    ELSE facts.group_block_code[1]
                END AS group_block_code,
                CASE
                    WHEN part.number = 1 THEN stay.source_booking_code
                    ELSE facts.source_booking_code[1]
                END AS source_booking_code,
                CASE
                    WHEN part.number = 1 THEN stay.currency_code
                    ELSE facts.currency_code[1]
                END AS currency_code,
                CASE
                    WHEN part.number = 1 THEN stay.rate_code
                    ELSE facts.rate_code[1]
                END AS rate_code,
            COALESCE(stay.stay_number, 1) AS stay_number,
            COALESCE(stay.rooms, 0) AS rooms,
                CASE
                    WHEN part.number = 1 THEN 'dayUse'::text
                    ELSE 'outsideStay'::text
                END AS cause,
            COALESCE(outside.revenue_date, stay.arrival_date) AS occupancy_date,
            COALESCE(outside.net_room_revenue, stay.net_room_revenue) AS net_room_revenue,
            COALESCE(outside.net_room_revenue, stay.room_revenue) AS room_revenue
           FROM generate_series(1, 2) part(number)
             LEFT JOIN LATERAL ( SELECT stay_1.arrival_date,
                    stay_1.departure_date,
                    stay_1.room_type_code,
                    stay_1.booked_room_type_code,
                    stay_1.market_segment_code,
                    stay_1.group_block_code,
                    stay_1.source_booking_code,
                    stay_1.currency_code,
                    stay_1.rate_code,
                    stay_1.stay_number,
                    stay_1.rooms,
                        CASE
                            WHEN stay_1.turn = 1 AND NOT other.is_night THEN day.net_room_revenue
                            ELSE NULL::numeric
                        END AS net_room_revenue,
                        CASE
                            WHEN day.net_room_revenue IS NOT NULL THEN
                            CASE
                                WHEN stay_1.turn = 1 AND NOT other.is_night THEN day.net_room_revenue
                                ELSE NULL::numeric
                            END
                            WHEN stay_1.rooms > 0 AND revenue.leaves_rates THEN rate.rate_value * stay_1.rooms::numeric
                            ELSE NULL::numeric
                        END AS room_revenue
                   FROM ( SELECT counted.arrival_date,
                            counted.departure_date,
                            counted.room_type_code,
                            counted.booked_room_type_code,
                            counted.market_segment_code,
                            counted.group_block_code,
                            counted.source_booking_code,
                            counted.currency_code,
                            counted.rate_code,
                            counted.stay_number,
                            counted.is_repeat,
                            counted.stays,
                            counted.turn,
                                CASE
                                    WHEN counted.turn > GREATEST(COALESCE(facts.number_of_rooms, 1),
                                    CASE
WHEN facts.share_id IS NULL THEN 0
ELSE 1
                                    END) THEN 0
                                    WHEN counted.turn = 1 THEN GREATEST(GREATEST(COALESCE(facts.number_of_rooms, 1), 1) - counted.stays::integer + 1, 1)
                                    ELSE 1
                                END AS rooms
                           FROM ( SELECT named.arrival_date,
                                    named.departure_date,
                                    named.room_type_code,
                                    named.booked_room_type_code,
                                    named.market_segment_code,
                                    named.group_block_code,
                                    named.source_booking_code,
                                    named.currency_code,
                                    named.rate_code,
                                    named.stay_number,
                                    named.is_repeat,
                                    count(*) OVER (PARTITION BY named.arrival_date) AS stays,
                                    row_number() OVER (PARTITION BY named.arrival_date ORDER BY named.is_repeat, named.stay_number) AS turn
                                   FROM ( SELECT unnested.arrival_date,
    unnested.departure_date,
    unnested.room_type_code,
    unnested.booked_room_type_code,
    unnested.market_segment_code,
    unnested.group_block_code,
    unnested.source_booking_code,
    unnested.currency_code,
    unnested.rate_code,
    unnested.place::integer AS stay_number,
    row_number() OVER (PARTITION BY unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code, unnested.market_segment_code, unnested.group_block_code, unnested.rate_code, unnested.currency_code, (GREATEST(unnested.number_of_adults, 0)), (GREATEST(unnested.number_of_children, 0)) ORDER BY unnested.place) > 1 AS is_repeat
   FROM UNNEST(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.currency_code, facts.rate_code, facts.number_of_adults, facts.number_of_children) WITH ORDINALITY unnested(arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, currency_code, rate_code, number_of_adults, number_of_children, place)
  WHERE unnested.departure_date = unnested.arrival_date) named) counted) stay_1
                     CROSS JOIN LATERAL ( SELECT count(*) > 0 AS is_night
                           FROM UNNEST(facts.arrival_date, facts.departure_date) other_1(arrival_date, departure_date)
                          WHERE other_1.arrival_date <= stay_1.arrival_date AND stay_1.arrival_date < other_1.departure_date) other
                     LEFT JOIN ( SELECT sent.revenue_date,
                            sum(sent.net_room_revenue) AS net_room_revenue
                           FROM UNNEST(facts.revenue_date, facts.net_room_revenue) sent(revenue_date, net_room_revenue)
                          GROUP BY sent.revenue_date) day ON day.revenue_date = stay_1.arrival_date
                     LEFT JOIN LATERAL ( SELECT sent.rate_value
                           FROM UNNEST(facts.rate_stay_index, facts.rate_start_date, facts.rate_end_date, facts.rate_value) WITH ORDINALITY sent(stay_index, start_date, end_date, rate_value, place)
                          WHERE sent.stay_index = (stay_1.stay_number - 1) AND stay_1.arrival_date >= COALESCE(sent.start_date, '-infinity'::date) AND stay_1.arrival_date <= COALESCE(sent.end_date, 'infinity'::date)
                          ORDER BY sent.place DESC
                         LIMIT 1) rate ON true) stay ON part.number = 1
             LEFT JOIN LATERAL ( SELECT beyond.revenue_date,
                    beyond.net_room_revenue,
                    beyond.dates
                   FROM ( SELECT day.revenue_date,
                            day.net_room_revenue,
                            count(*) OVER () AS dates
                           FROM ( SELECT sent.revenue_date,
                                    sum(sent.net_room_revenue) AS net_room_revenue
                                   FROM UNNEST(facts.revenue_date, facts.net_room_revenue) sent(revenue_date, net_room_revenue)
                                  GROUP BY sent.revenue_date) day
                             CROSS JOIN LATERAL ( SELECT count(*) AS stays
                                   FROM UNNEST(facts.arrival_date, facts.departure_date) stay_1(arrival_date, departure_date)
                                  WHERE day.revenue_date = stay_1.arrival_date OR day.revenue_date > stay_1.arrival_date AND day.revenue_date < stay_1.departure_date) covered
                          WHERE day.net_room_revenue <> 0::numeric AND covered.stays = 0) beyond
                  WHERE beyond.dates <= 1100) outside ON part.number = 2
          WHERE stay.stay_number IS NOT NULL OR outside.revenue_date IS NOT NULL) extra
  WHERE size.is_counted AND (extra.rooms > 0 OR extra.room_revenue IS NOT NULL);
create view analytics.room_stay as
 SELECT property.client_code,
    property.property_code,
    record.key AS reservation_id,
    stay.place::integer AS stay_number,
    record.status,
    facts.number_of_rooms,
    stay.departure_date - stay.arrival_date AS nights,
    stay.arrival_date,
    stay.departure_date,
    stay.room_type_code,
    stay.booked_room_type_code,
    stay.market_segment_code,
    stay.group_block_code,
    stay.source_booking_code,
    stay.number_of_adults,
    stay.number_of_children,
    stay.currency_code,
    stay.rate_code,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'r'::"char"
     JOIN analytics.stored_reservation_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL UNNEST(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.number_of_adults, facts.number_of_children, facts.currency_code, facts.rate_code) WITH ORDINALITY stay(arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, number_of_adults, number_of_children, currency_code, rate_code, place);
create view analytics.room_type_inventory as
 SELECT property.client_code,
    property.property_code,
    facts.occupancy_date,
    room.room_type_code,
    room.room_type_capacity,
    room.rooms_not_available_maintenance,
    room.rooms_not_available_other,
    room.rooms_sold,
    room.transient_sold,
    room.group_sold,
    room.is_virtual,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'i'::"char"
     JOIN analytics.stored_inventory_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL UNNEST(facts.room_type_code, facts.room_type_capacity, facts.rooms_not_available_maintenance, facts.rooms_not_available_other, facts.rooms_sold, facts.transient_sold, facts.group_sold, facts.is_virtual) room(room_type_code, room_type_capacity, rooms_not_available_maintenance, rooms_not_available_other, rooms_sold, transient_sold, group_sold, is_virtual);
create view analytics.status_meaning as
 SELECT used.client_code,
    used.property_code,
    resource.name AS resource,
    used.status,
    known.meaning,
    COALESCE(mapping.deducts, known.on_the_books) AS on_the_books
   FROM ( SELECT DISTINCT property.client_code,
            property.property_code,
            dimension.status
           FROM analytics.stored_property property
             JOIN analytics.stored_night_dimension dimension ON dimension.bucket = property.bucket AND dimension.property_id = property.property_id
          WHERE dimension.status IS NOT NULL) used
     CROSS JOIN ( VALUES ('reservations'::text,'r'::"char"), ('groups'::text,'g'::"char")) resource(name, letter)
     LEFT JOIN bellhop.status_mapping mapping ON mapping.client_code = used.client_code AND mapping.resource = resource.letter AND mapping.status = used.status
     LEFT JOIN analytics.default_status known ON known.resource = resource.name AND known.spelling = analytics.folded_status(used.status);
create view analytics.stay_night as
 SELECT property.client_code,
    property.property_code,
    record.key AS reservation_id,
    night.stay_number,
    night.occupancy_date,
    record.status,
    facts.number_of_rooms,
    facts.share_id,
    record.from_date AS reservation_arrival_date,
    record.to_date AS reservation_departure_date,
    night.arrival_date,
    night.departure_date,
    night.room_type_code,
    night.booked_room_type_code,
    night.market_segment_code,
    night.group_block_code,
    night.source_booking_code,
    night.number_of_adults,
    night.number_of_children,
    night.currency_code,
    night.rate_code,
    night.rate_value,
    night.gross_rate_value,
    night.net_room_revenue,
    night.net_food_revenue,
    night.net_beverage_revenue,
    night.net_other_revenue,
    night.net_ticket_price,
    night.ticket_price,
    night.net_total_revenue,
    night.gross_total_revenue,
    night.rooms,
    LEAST(GREATEST(night.number_of_adults, 0)::bigint * night.rooms, 2147483647::bigint) AS adults,
    LEAST(GREATEST(night.number_of_children, 0)::bigint * night.rooms, 2147483647::bigint) AS children,
        CASE
            WHEN night.has_daily_revenue THEN
            CASE
                WHEN night.rooms > 0 OR night.net_room_revenue <> 0::numeric THEN night.net_room_revenue
                ELSE NULL::numeric
            END
            WHEN night.rooms > 0 AND revenue.leaves_rates THEN night.rate_value * night.rooms::numeric
            ELSE NULL::numeric
        END AS room_revenue,
        CASE
            WHEN night.rooms > 0 AND revenue.leaves_rates THEN night.gross_rate_value * night.rooms::numeric
            ELSE NULL::numeric
        END AS gross_room_revenue,
    record.source_time,
    analytics.received_at_of(record.request_id) AS received_at
   FROM analytics.stored_property property
     JOIN analytics.stored_current record ON record.bucket = property.bucket AND record.property_id = property.property_id AND record.resource = 'r'::"char"
     JOIN analytics.stored_reservation_version facts ON facts.bucket = record.bucket AND facts.property_id = record.property_id AND facts.key = record.key AND facts.source_time = record.facts_source_time AND facts.content_hash = record.content_hash
     CROSS JOIN LATERAL ( SELECT COALESCE(max(stay.nights), 0) <= 1100 AND COALESCE(sum(stay.nights), 0::bigint) <= 11000 AS is_counted,
            count(*) FILTER (WHERE stay.nights > 0) AS stays
           FROM ( SELECT GREATEST(sent.departure_date - sent.arrival_date, 0) AS nights
                   FROM UNNEST(facts.arrival_date, facts.departure_date) sent(arrival_date, departure_date)) stay) size
     CROSS JOIN LATERAL ( SELECT COALESCE(sum(within.changes), 0::numeric) <= (2 * (size.stays + COALESCE(max(posted.days), 0::bigint)) + 50)::numeric AS leaves_rates
           FROM ( SELECT reported.day,
                    count(*) OVER () AS days,
                    lag(reported.day) OVER dates IS DISTINCT FROM (reported.day - 1) AS begins,
                    lead(reported.day) OVER dates IS DISTINCT FROM (reported.day + 1) AS ends
                   FROM ( SELECT sent.revenue_date AS day
                           FROM UNNEST(
                                CASE
                                    WHEN cardinality(facts.arrival_date) > 1 AND cardinality(facts.revenue_date) > 1 THEN facts.revenue_date
                                    ELSE NULL::date[]
                                END, facts.net_room_revenue) sent(revenue_date, net_room_revenue)
                          WHERE sent.revenue_date IS NOT NULL AND sent.net_room_revenue IS NOT NULL
                          GROUP BY sent.revenue_date) reported
                  WINDOW dates AS (ORDER BY reported.day)) posted
             CROSS JOIN LATERAL ( SELECT count(*) FILTER (WHERE posted.begins AND stay.arrival_date < posted.day AND posted.day < stay.departure_date) + count(*) FILTER (WHERE posted.ends AND stay.arrival_date <= posted.day AND (posted.day + 1) < stay.departure_date) AS changes
                   FROM UNNEST(facts.arrival_date, facts.departure_date) stay(arrival_date, departure_date)) within) revenue
     CROSS JOIN LATERAL ( SELECT stay_date.arrival_date,
            stay_date.departure_date,
            stay_date.room_type_code,
            stay_date.booked_room_type_code,
            stay_date.market_segment_code,
            stay_date.group_block_code,
            stay_date.source_booking_code,
            stay_date.number_of_adults,
            stay_date.number_of_children,
            stay_date.currency_code,
            stay_date.rate_code,
            stay_date.stay_number,
            stay_date.is_repeat,
            stay_date.occupancy_date,
            stay_date.turn,
            stay_date.stays,
            rate.rate_value,
            rate.gross_rate_value,
            day.net_room_revenue IS NOT NULL AS has_daily_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_room_revenue
                    ELSE NULL::numeric
                END AS net_room_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_food_revenue
                    ELSE NULL::numeric
                END AS net_food_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_beverage_revenue
                    ELSE NULL::numeric
                END AS net_beverage_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_other_revenue
                    ELSE NULL::numeric
                END AS net_other_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_ticket_price
                    ELSE NULL::numeric
                END AS net_ticket_price,
                CASE
                    WHEN stay_date.turn = 1 THEN day.ticket_price
                    ELSE NULL::numeric
                END AS ticket_price,
                CASE
                    WHEN stay_date.turn = 1 THEN day.net_total_revenue
                    ELSE NULL::numeric
                END AS net_total_revenue,
                CASE
                    WHEN stay_date.turn = 1 THEN day.gross_total_revenue
                    ELSE NULL::numeric
                END AS gross_total_revenue,
                CASE
                    WHEN stay_date.turn > GREATEST(COALESCE(facts.number_of_rooms, 1),
                    CASE
                        WHEN facts.share_id IS NULL THEN 0
                        ELSE 1
                    END) THEN 0
                    WHEN stay_date.turn = 1 THEN GREATEST(GREATEST(COALESCE(facts.number_of_rooms, 1), 1) - stay_date.stays::integer + 1, 1)
                    ELSE 1
                END AS rooms
           FROM ( SELECT stay.arrival_date,
                    stay.departure_date,
                    stay.room_type_code,
                    stay.booked_room_type_code,
                    stay.market_segment_code,
                    stay.group_block_code,
                    stay.source_booking_code,
                    stay.number_of_adults,
                    stay.number_of_children,
                    stay.currency_code,
                    stay.rate_code,
                    stay.stay_number,
                    stay.is_repeat,
                    stay.arrival_date + nights.passed AS occupancy_date,
                    row_number() OVER (PARTITION BY (stay.arrival_date + nights.passed) ORDER BY stay.is_repeat, stay.arrival_date DESC, stay.stay_number) AS turn,
                    count(*) OVER (PARTITION BY (stay.arrival_date + nights.passed)) AS stays
                   FROM ( SELECT unnested.arrival_date,
                            unnested.departure_date,
                            unnested.room_type_code,
                            unnested.booked_room_type_code,
                            unnested.market_segment_code,
                            unnested.group_block_code,
                            unnested.source_booking_code,
                            unnested.number_of_adults,
                            unnested.number_of_children,
                            unnested.currency_code,
                            unnested.rate_code,
                            unnested.place::integer AS stay_number,
                            row_number() OVER (PARTITION BY unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code, unnested.market_segment_code, unnested.group_block_code, unnested.rate_code, unnested.currency_code, (GREATEST(unnested.number_of_adults, 0)), (GREATEST(unnested.number_of_children, 0)) ORDER BY unnested.place) > 1 AS is_repeat
                           FROM UNNEST(facts.arrival_date, facts.departure_date, facts.room_type_code, facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code, facts.number_of_adults, facts.number_of_children, facts.currency_code, facts.rate_code) WITH ORDINALITY unnested(arrival_date, departure_date, room_type_code, booked_room_type_code, market_segment_code, group_block_code, source_booking_code, number_of_adults, number_of_children, currency_code, rate_code, place)) stay
                     CROSS JOIN LATERAL generate_series(0,
                        CASE
                            WHEN size.is_counted THEN stay.departure_date - stay.arrival_date - 1
                            ELSE NULL::integer
                        END) nights(passed)) stay_date
             LEFT JOIN ( SELECT sent.revenue_date,
                    sum(sent.net_room_revenue) AS net_room_revenue,
                    sum(sent.net_food_revenue) AS net_food_revenue,
                    sum(sent.net_beverage_revenue) AS net_beverage_revenue,
                    sum(sent.net_other_revenue) AS net_other_revenue,
                    sum(sent.net_ticket_price) AS net_ticket_price,
                    sum(sent.ticket_price) AS ticket_price,
                    sum(sent.net_total_revenue) AS net_total_revenue,
                    sum(sent.gross_total_revenue) AS gross_total_revenue
                   FROM UNNEST(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue, facts.net_beverage_revenue, facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price, facts.net_total_revenue, facts.gross_total_revenue) sent(revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue, net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue)
                  GROUP BY sent.revenue_date) day ON day.revenue_date = stay_date.occupancy_date
             LEFT JOIN LATERAL ( SELECT sent.rate_value,
                    sent.gross_rate_value
                   FROM UNNEST(facts.rate_start_date, facts.rate_end_date, facts.rate_value, facts.gross_rate_value, facts.rate_stay_index) WITH ORDINALITY sent(rate_start_date, rate_end_date, rate_value, gross_rate_value, rate_stay_index, place)
                  WHERE sent.rate_stay_index = (stay_date.stay_number - 1) AND stay_date.occupancy_date >= COALESCE(sent.rate_start_date, '-infinity'::date) AND stay_date.occupancy_date <= COALESCE(sent.rate_end_date, 'infinity'::date)
                  ORDER BY sent.place DESC
                 LIMIT 1) rate ON true) night;
create view analytics.stored_current as
 SELECT bucket,
    property_id,
    resource,
    key,
    source_time,
    request_id,
    record_index,
    content_hash,
    facts_source_time,
    status,
    from_date,
    to_date
   FROM bellhop_state.current_record;
create view analytics.stored_group_version as
 SELECT group_version.bucket,
    group_version.property_id,
    group_version.key,
    group_version.source_time,
    group_version.content_hash,
    group_version.request_id,
    group_version.record_index,
    group_version.outcome,
    group_version.facts_source_time,
    group_version.change_no,
    group_version.status,
    group_version.from_date,
    group_version.to_date,
    given.fact[1] AS name,
    given.fact[2] AS master_group_code,
    given.fact[3]::date AS booking_date,
    given.fact[4]::date AS start_date,
    given.fact[5]::date AS end_date,
    given.fact[6]::integer AS cutoff_days,
    given.fact[7]::date AS cutoff_date,
    given.fact[8] AS group_type_code,
    given.fact[9] AS pickup_type_code,
    given.fact[10] AS market_segment_code,
    given.fact[11] AS rate_code,
    bellhop.list_of(given.fact[12])::date[] AS occupancy_date,
    bellhop.list_of(given.fact[13])::text[] AS room_type_code,
    bellhop.list_of(given.fact[14])::integer[] AS blocks,
    bellhop.list_of(given.fact[15])::integer[] AS pickup,
    bellhop.list_of(given.fact[16])::integer[] AS original_blocks,
    bellhop.list_of(given.fact[17])::numeric[] AS single_person_rate,
    bellhop.list_of(given.fact[18])::numeric[] AS two_person_rate,
    bellhop.list_of(given.fact[19])::text[] AS currency_code
   FROM bellhop_state.group_version
     CROSS JOIN LATERAL ( SELECT bellhop.facts_of(group_version.facts) AS fact
         OFFSET 0) given;
create view analytics.stored_inventory_version as
 SELECT inventory_version.bucket,
    inventory_version.property_id,
    inventory_version.key,
    inventory_version.source_time,
    inventory_version.content_hash,
    inventory_version.request_id,
    inventory_version.record_index,
    inventory_version.outcome,
    inventory_version.facts_source_time,
    inventory_version.change_no,
    inventory_version.status,
    inventory_version.from_date,
    inventory_version.to_date,
    given.fact[1]::date AS occupancy_date,
    bellhop.list_of(given.fact[2])::text[] AS room_type_code,
    bellhop.list_of(given.fact[3])::boolean[] AS is_virtual,
    bellhop.list_of(given.fact[4])::integer[] AS room_type_capacity,
    bellhop.list_of(given.fact[5])::integer[] AS rooms_not_available_maintenance,
    bellhop.list_of(given.fact[6])::integer[] AS rooms_not_available_other,
    bellhop.list_of(given.fact[7])::integer[] AS rooms_sold,
    bellhop.list_of(given.fact[8])::integer[] AS transient_sold,
    bellhop.list_of(given.fact[9])::integer[] AS group_sold
   FROM bellhop_state.inventory_version
     CROSS JOIN LATERAL ( SELECT bellhop.facts_of(inventory_version.facts) AS fact
         OFFSET 0) given;
create view analytics.stored_ledger_delta as
 SELECT source_time,
    received_at,
    property_id,
    first_night,
    nights,
    bucket,
    runs,
    key
   FROM bellhop_state.ledger_delta;
create view analytics.stored_night_dimension as
 SELECT bucket,
    property_id,
    dimension,
    status,
    room_type_code,
    booked_room_type_code,
    market_segment_code,
    group_block_code,
    rate_code,
    channel,
    currency_code,
    cause
   FROM bellhop_state.night_dimension;
create view analytics.stored_night_entry as
 SELECT source_time,
    received_at,
    dimension,
    property_id,
    first_night,
    nights,
    rooms,
    adults,
    children,
    bucket,
    room_revenue,
    gross_room_revenue,
    key,
    share_id
   FROM bellhop_state.night_entry;
create view analytics.stored_property as
 SELECT property_id,
    bucket,
    client_code,
    property_code
   FROM bellhop.property;
create view analytics.stored_reservation_range as
 SELECT bucket,
    property_id,
    key,
    source_time,
    request_id,
    record_index,
    to_date,
    facts_source_time,
    content_hash
   FROM bellhop_state.reservation_version;
create view analytics.stored_reservation_version as
 SELECT reservation_version.bucket,
    reservation_version.property_id,
    reservation_version.key,
    reservation_version.source_time,
    reservation_version.content_hash,
    reservation_version.request_id,
    reservation_version.record_index,
    reservation_version.outcome,
    reservation_version.facts_source_time,
    reservation_version.change_no,
    reservation_version.status,
    reservation_version.from_date,
    reservation_version.to_date,
    given.fact[1] AS confirmation_number,
    ("left"(given.fact[2], 26)::timestamp without time zone AT TIME ZONE 'UTC'::text) AS booking_time,
    given.fact[3]::integer AS number_of_rooms,
    given.fact[4] AS channel,
    given.fact[5] AS nationality,
    bellhop.list_of(given.fact[6])::date[] AS arrival_date,
    bellhop.list_of(given.fact[7])::date[] AS departure_date,
    bellhop.list_of(given.fact[8])::text[] AS room_type_code,
    bellhop.list_of(given.fact[9])::text[] AS booked_room_type_code,
    bellhop.list_of(given.fact[10])::text[] AS market_segment_code,
    bellhop.list_of(given.fact[11])::text[] AS source_booking_code,
    bellhop.list_of(given.fact[12])::text[] AS rate_code,
    bellhop.list_of(given.fact[13])::text[] AS currency_code,
    bellhop.list_of(given.fact[14])::integer[] AS number_of_adults,
    bellhop.list_of(given.fact[15])::integer[] AS number_of_children,
    bellhop.list_of(given.fact[16])::integer[] AS rate_stay_index,
    bellhop.list_of(given.fact[17])::date[] AS rate_start_date,
    bellhop.list_of(given.fact[18])::date[] AS rate_end_date,
    bellhop.list_of(given.fact[19])::numeric[] AS rate_value,
    bellhop.list_of(given.fact[20])::numeric[] AS gross_rate_value,
    bellhop.list_of(given.fact[21])::date[] AS revenue_date,
    bellhop.list_of(given.fact[22])::numeric[] AS net_room_revenue,
    bellhop.list_of(given.fact[23])::numeric[] AS net_food_revenue,
    bellhop.list_of(given.fact[24])::numeric[] AS net_beverage_revenue,
    bellhop.list_of(given.fact[25])::numeric[] AS net_other_revenue,
    bellhop.list_of(given.fact[26])::numeric[] AS net_ticket_price,
    bellhop.list_of(given.fact[27])::numeric[] AS ticket_price,
    bellhop.list_of(given.fact[28])::numeric[] AS net_total_revenue,
    bellhop.list_of(given.fact[29])::numeric[] AS gross_total_revenue,
    ("left"(given.fact[30], 26)::timestamp without time zone AT TIME ZONE 'UTC'::text) AS cancellation_time,
    bellhop.list_of(given.fact[31])::text[] AS group_block_code,
    given.fact[32] AS multi_reservation_id,
    given.fact[33] AS share_id
   FROM bellhop_state.reservation_version
     CROSS JOIN LATERAL ( SELECT bellhop.facts_of(reservation_version.facts) AS fact
         OFFSET 0) given;

comment on view analytics.daily_revenue is 'Revenue of reservations by date, one row each, also of dates that are no night of a stay. Current state.';
comment on view analytics.group_block_master is 'Group block masters, one row each. Current state.';
comment on view analytics.group_block_night is 'Group blocks: rooms of a room type held for a group on a night. Current state.';
comment on view analytics.movement is 'Arrivals, departures, stay-throughs, cancellations and no-shows in rooms, one row each of a date and currency. Current state.';
comment on view analytics.night_on_the_books is 'Nights of reservations on the books, one row each of a reservation and kind of stay, with shares counted once. Current state.';
comment on view analytics.reservation is 'Reservations, one row each. Current state.';
comment on view analytics.revenue_without_night is 'Revenue that belongs to no room night (docs/figures.md): day use, one row a stay, and dates outside the stay. Current state.';
comment on view analytics.room_stay is 'Room stays of reservations, one row each. Current state.';
comment on view analytics.room_type_inventory is 'Rooms of each room type, property and occupancy date. Current state.';
comment on view analytics.stay_night is 'Nights of room stays, one row each, with the rooms, guests and revenue that figures count (docs/figures.md), before shares. Current state.';
