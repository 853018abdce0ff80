-- The oldest unapplied part of bucket $1 in each of the log writers $2. Plan: for each, the last cursor by index, then the next entry of
-- the log's primary key.
select part.request_id
from unnest($2::bigint[]) as log_writer (log_writer_id)
left join lateral ({../../platform/db/sql/cursor of $1::smallint}) as cursor on true
cross join lateral (
  select log.request_id from bellhop.accept_log as log
  where {../../platform/db/sql/beyond-cursor of $1::smallint}
  order by log.log_writer_id, log.request_id limit 1
) as part
order by part.request_id limit 1
