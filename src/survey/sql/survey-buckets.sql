-- How many buckets nobody applies: never held, given up, or held by a backend that is gone (as src/apply/sql/look-around.sql).
select count(*)::integer as unowned
from bellhop.bucket_lease as lease
where not exists (
  select from pg_stat_activity as backend
  where backend.pid = lease.backend_pid and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
)
