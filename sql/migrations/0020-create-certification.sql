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
  -- When it was ended, or else ends by itself.
  ends_at timestamptz not null
);
create index certification_client on bellhop.certification (client_id, opened_at);

-- One thing that a client under certification did on the wire. At most so many of a kind are kept
-- (src/certify/wire-notes.ts).
create table bellhop.certification_event (
  certification_id uuid not null references bellhop.certification on delete cascade,
  event_no bigint generated always as identity,
  kind text collate "C" not null,
  noted_at timestamptz not null,
  detail json not null,
  primary key (certification_id, kind, event_no)
);
