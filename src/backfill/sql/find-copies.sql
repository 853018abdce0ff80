-- For the requests $4 in bucket $1: the locations of their records, and which are versions of property $2, rejected, or quarantined as of
-- $3. All others are copies of earlier records.
select
  log.request_id as "requestId", log.layout,
  array(select (rejection ->> 'index')::integer from json_array_elements(log.rejections) as rejection)
    || array(
      select quarantine.record_index from bellhop.quarantine
      where quarantine.bucket = $1::smallint and quarantine.request_id = log.request_id
        and (quarantine.state <> 'r' or quarantine.resolved_by > $3::uuid)
    )
    || coalesce(version.indexes, '{}') as known
from bellhop.accept_log as log
left join (
  select request_id, array_agg(record_index) as indexes
  from {versions}
  where bucket = $1::smallint and property_id = $2 and request_id = any ($4::uuid[])
  group by request_id
) as version on version.request_id = log.request_id
where log.bucket = $1::smallint and log.request_id = any ($4::uuid[]) and log.kind = 'b'
