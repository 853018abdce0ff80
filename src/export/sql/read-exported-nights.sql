-- The reservations of bucket $1, each with its compact nights, or with its facts, if a page may have them ({shown}), where those are missing or of other content
-- (src/apply/ledger/content-nights.ts). $2 and $3 as in read-exported-records.sql.
select
  current.property_id, current.key, current.status, case when kept.is_compact then encode(current.compact_nights, 'hex') end,
  case when not kept.is_compact then (
    select {shown} from bellhop_state.reservation_version as facts
    where facts.bucket = current.bucket and facts.property_id = current.property_id and facts.key = current.key
      and facts.source_time = current.facts_source_time and facts.content_hash = current.content_hash
  ) end
from {current} as current
cross join lateral (
  select coalesce(substr(current.compact_nights, 1, 6) = substr(current.content_hash, 1, 6), false) as is_compact
) as kept
where current.resource = 'r'
