-- Names of the nodes whose session has not announced knowledge $2 (src/identity/key-admin.ts). $1: class of the advisory locks.
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
    select from pg_locks as announced
    where announced.locktype = 'advisory' and announced.pid = node.pid and announced.granted and announced.objsubid = 2
      and announced.classid::bigint = $1::bigint and announced.objid::bigint = $2::bigint
  )
order by 1
