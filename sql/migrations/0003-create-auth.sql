-- Who may do what: partners' clients, their secrets and grants, the signing keys, and what an operator did.
set local search_path = bellhop;

-- One row: a counter that every change of this file's tables raises, in the transaction of the change. The row's lock
-- puts those transactions in order, so a node that has seen epoch N has seen every change up to N (rows carry the epoch
-- of their last change). Nodes look at it at most once a second; nothing else is read while it stands still.
create table auth_epoch (
  only_row boolean primary key default true check (only_row),
  epoch bigint not null default 0
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

-- Two slots a client, so never more than two live secrets. digest: HMAC-SHA256 under the installation's pepper.
create table client_secret (
  client_id text collate "C" not null references client,
  slot smallint not null check (slot in (1, 2)),
  digest bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  last_used_at timestamptz,
  primary key (client_id, slot)
);

-- ES256 keys. The one that signs is the one activated last; until activate_at a key is only announced. From remove_at
-- on its tokens are refused. private_key: PKCS#8 (src/auth/seal.ts says how it is sealed); null once it signs no more.
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
  changed_epoch bigint not null
);
create index denied_token_changed on denied_token (changed_epoch);
create index denied_token_expires on denied_token (expires_at);

-- What was done to the tables above, and what was refused because it was not granted. Never holds a secret or a token.
create table audit_entry (
  audit_id bigint generated always as identity primary key,
  occurred_at timestamptz not null default clock_timestamp(),
  who text not null,
  what text not null,
  client_id text collate "C",
  detail json not null default '{}'
);
create index audit_entry_client on audit_entry (client_id, audit_id);
