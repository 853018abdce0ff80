-- From when on what is known of a client code's records of a resource, where retention has taken something of them out
-- (docs/decisions/0025): kind is payloads, outcomes or versions. What is current is known whatever this says.
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
