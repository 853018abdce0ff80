-- Condition: a version of bucket $1 is not quarantined as of request {of}.
not exists (
  select from bellhop.quarantine
  where quarantine.bucket = $1::smallint and quarantine.request_id = version.request_id and quarantine.record_index = version.record_index
    and (quarantine.state <> 'r' or quarantine.resolved_by > {of}::uuid)
)
