-- Enters this session for the roles $1 under the name $2, and clears away the rows of backends that are gone.
with gone as (
  delete from bellhop.presence as former
  where not exists (
    select from pg_stat_activity backend
    where backend.pid = former.backend_pid
      and coalesce(backend.backend_start, former.backend_start) = former.backend_start
  )
)
insert into bellhop.presence (role, owner, backend_pid, backend_start)
select role, $2, pid, backend_start
from unnest($1::text[]) as role
cross join pg_stat_activity
where pid = pg_backend_pid()
returning role, presence_id::text as presence_id
