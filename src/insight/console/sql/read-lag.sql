-- The oldest unapplied part, the number of unapplied parts (at most $1 per bucket and log writer) and of their buckets, among the buckets
-- $3 (null: all).
-- Plan: per bucket and open log writer a backward scan of one row of apply_cursor's primary key, then an index scan of the log's primary
-- key after it; older partitions are pruned by the cursor.
select
  min(part.request_id::text) as oldest, count(*)::integer as waiting, count(distinct home.bucket)::integer as buckets
from bellhop.bucket_lease as home
cross join unnest($2::bigint[]) as log_writer (log_writer_id)
left join lateral ({../../../platform/db/sql/cursor of home.bucket}) as cursor on true
cross join lateral (
  select log.request_id
  from bellhop.accept_log as log
  where {../../../platform/db/sql/beyond-cursor of home.bucket}
  order by log.log_writer_id, log.request_id
  limit $1
) as part
where $3::smallint[] is null or home.bucket = any ($3)
