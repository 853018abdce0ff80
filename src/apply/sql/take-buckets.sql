-- Takes those of $2 (buckets, with the epoch they had when nobody held them) that nobody has taken since. The epoch
-- tells a former holder that it is one.
with me as (
  select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()
),
free as (
  select lease.bucket
  from json_to_recordset($2::json) as seen (bucket smallint, epoch bigint)
  join bellhop.bucket_lease as lease on lease.bucket = seen.bucket and lease.epoch = seen.epoch
  order by lease.bucket
  for update of lease skip locked
)
update bellhop.bucket_lease as lease
set epoch = lease.epoch + 1, owner = $1, backend_pid = me.pid, backend_start = me.backend_start
from me, free
where lease.bucket = free.bucket
returning lease.bucket, lease.epoch::text as epoch
