-- How long the longest transaction of this database lasts: so long nothing that was replaced since can be cleaned away.
select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 as oldest_seconds
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
