-- The 5 oldest transactions open for more than $1 seconds, including prepared ones. An open transaction prevents the cleanup of newer dead
-- rows in all databases. If there is none, one row reports whether the role can see those of other roles.
select open.*, pg_has_role('pg_read_all_stats', 'usage') as "seesAll"
from (select) as asked left join (select * from (
  select
    'session ' || pid as who, coalesce(nullif(application_name, ''), 'unnamed') as program, usename::text as role,
    coalesce(state, 'hidden') as state, extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
  from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null
  union all
  select
    'prepared transaction ' || gid, 'two-phase commit', owner::text, 'prepared',
    extract(epoch from clock_timestamp() - prepared)::float8
  from pg_prepared_xacts
) as known
where seconds > $1
order by seconds desc
limit 5) as open on true
