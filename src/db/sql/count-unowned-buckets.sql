-- Of the leases $1 how many nobody holds: never held, given up, or held by a backend that is gone. One whose start is hidden
-- (another role's) counts as the holder, as in src/apply/sql/look-around.sql.
select count(*)::integer as unowned
from json_to_recordset($1::json) as lease (backend_pid integer, backend_start timestamptz)
where not exists (
  select from pg_stat_activity as backend
  where backend.pid = lease.backend_pid and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
)
