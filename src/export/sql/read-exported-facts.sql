-- The current records of one resource in bucket $1, each with its facts, if a page may have them ({shown}). $2 and $3 as in read-exported-records.sql.
select
  current.property_id, current.key, (
    select {shown} from bellhop_state.{of}_version as facts
    where facts.bucket = current.bucket and facts.property_id = current.property_id and facts.key = current.key
      and facts.source_time = current.facts_source_time and facts.content_hash = current.content_hash
  )
from {current} as current
where current.resource = '{letter}'
