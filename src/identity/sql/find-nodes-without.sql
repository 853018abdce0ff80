-- Nodes whose session does not say that they know $2 (src/identity/key-admin.ts; $1: the class of such locks), by their names.
select coalesce(
    (
      select min(present.owner) from bellhop.presence as present
      where present.backend_pid = node.pid and present.backend_start = node.backend_start
    ),
    'pid ' || node.pid
  ) as owner
from pg_stat_activity as node
where node.datname = current_database() and node.application_name = 'bellhop node'
  and not exists (
    select from pg_locks as told
    where told.locktype = 'advisory' and told.pid = node.pid and told.granted and told.objsubid = 2
      and told.classid::bigint = $1::bigint and told.objid::bigint = $2::bigint
  )
order by 1
