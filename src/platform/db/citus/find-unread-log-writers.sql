-- Those of the log writers $1 of which some bucket has not applied all. Each worker looks at its own buckets.
select distinct part.log_writer_id::text as log_writer_id
from bellhop.bucket_lease as home
cross join unnest($1::bigint[]) as log_writer (log_writer_id)
left join lateral ({../sql/cursor of home.bucket}) as cursor on true
cross join lateral (
  select log.log_writer_id
  from bellhop.accept_log as log
  where {../sql/beyond-cursor of home.bucket}
  order by log.log_writer_id, log.request_id
  limit 1
) as part
