-- Which of the buckets $1 have something that is not applied in one of the log writers $2, the one that waits longest first, and
-- those last that only have something of log writers that yield ($3 says which), which they do for $4 milliseconds. Each
-- worker looks at its own buckets: an index scan of the log's primary key for each bucket and log writer, one row of it.
select home.bucket, min(part.request_id::text) as first,
  bool_and(log_writer.yields and part.received_at > statement_timestamp() - make_interval(secs => $4::float8 / 1000)) as yields
from bellhop.bucket_lease as home
cross join unnest($2::bigint[], $3::boolean[]) as log_writer (log_writer_id, yields)
left join lateral ({../sql/cursor of home.bucket}) as cursor on true
cross join lateral (
  select log.request_id, log.received_at
  from bellhop.accept_log as log
  where {../sql/beyond-cursor of home.bucket}
  order by log.log_writer_id, log.request_id
  limit 1
) as part
where home.bucket = any ($1::smallint[])
group by home.bucket
order by yields, first
