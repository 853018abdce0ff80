-- Takes the buckets of $2 that nobody holds: never held, or held by a backend that is gone. The row lock waits for a
-- holder's running transaction; the epoch tells a former holder that it is one. A backend whose start is hidden (another
-- role's) counts as the holder: waiting for it is safe, taking over from it is not.
with me as (
  select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()
)
update bellhop.bucket_lease as lease
set epoch = lease.epoch + 1, owner = $1, backend_pid = me.pid, backend_start = me.backend_start
from me
where lease.bucket = any ($2::smallint[])
  and not exists (
    select from pg_stat_activity holder
    where holder.pid = lease.backend_pid
      and coalesce(holder.backend_start, lease.backend_start) = lease.backend_start
  )
returning lease.bucket, lease.epoch::text as epoch
