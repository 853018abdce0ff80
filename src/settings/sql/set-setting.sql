-- Stores one setting and increases the version, unless the value is unchanged.
with former as (
  select value from bellhop.property_setting
  where client_code = $1 and property_code is not distinct from $2 and name = $3
), written as (
  insert into bellhop.property_setting as kept (client_code, property_code, name, value) values ($1, $2, $3, $4)
  on conflict on constraint property_setting_key
    do update set value = excluded.value, changed_at = clock_timestamp() where kept.value <> excluded.value
  returning client_code
), looked_at as (
  -- Redaction on arrival changes with these settings (src/ingest/redact.ts).
  update bellhop.privacy_version set settings = settings + 1
  where $3 in ('personalData', 'negativeCounts') and exists (select from written)
)
insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from written
on conflict (client_code) do update set version = kept.version + 1
returning version, (select value from former) as before
