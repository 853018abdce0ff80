-- Who may log in to the console, and who is logged in. Names are written in one case, so that two cannot look alike.
-- password_hash: the parameters of scrypt, salt and key (src/auth/password.ts).
create table bellhop.operator (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  password_hash text not null,
  created_at timestamptz not null default clock_timestamp(),
  password_changed_at timestamptz not null default clock_timestamp(),
  last_login_at timestamptz,
  disabled_at timestamptz
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

-- The console lists what is held over all buckets, the oldest first.
create index quarantine_held_order on bellhop.quarantine (request_id, record_index) where state = 'h';
