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

-- A number for all that is stripped on arrival: raised by every change of the list and of the setting `personalData`.
create table bellhop.privacy_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0
);
insert into bellhop.privacy_version default values;

-- The keys under which profiles of the list are digested, and names that are stripped on arrival are hashed.
insert into bellhop.instance (name, value)
select name, replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
from (values ('privacy.list'), ('privacy.names')) as key (name);

-- A property of which everything was deleted keeps its number.
alter table bellhop.property add column deleted_at timestamptz;
