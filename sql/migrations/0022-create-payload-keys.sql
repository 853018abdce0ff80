-- Data keys that parts of the log are sealed with (src/accept/seal-body.ts): each sealed by KEY_ENCRYPTION_KEY as the keys that
-- sign tokens are (src/auth/seal.ts). One is current; a retired one opens what it sealed.
create table bellhop.payload_key (
  key_id uuid primary key,
  sealed text not null,
  created_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz
);
create unique index payload_key_current on bellhop.payload_key ((true)) where retired_at is null;

-- Which pepper a secret's digest was made with: 1 is bellhop.instance's auth.pepper, N is auth.pepper.N (src/auth/peppers.ts).
alter table bellhop.client_secret add column pepper smallint not null default 1;
