-- Removes one setting; increases the version if it existed.
with removed as (
  delete from bellhop.property_setting
  where client_code = $1 and property_code is not distinct from $2 and name = $3
  returning client_code, value
), looked_at as (
  -- Redaction on arrival changes with these settings (src/ingest/redact.ts).
  update bellhop.privacy_version set settings = settings + 1
  where $3 in ('personalData', 'negativeCounts') and exists (select from removed)
)
insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from removed
on conflict (client_code) do update set version = kept.version + 1
returning version, (select value from removed) as before
