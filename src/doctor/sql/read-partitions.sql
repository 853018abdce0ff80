-- The partitions of the service's tables, each with its bounds as PostgreSQL writes them.
select parent.oid::regclass::text as table, child.relname as partition, pg_get_expr(child.relpartbound, child.oid) as bounds
from pg_inherits
join pg_class as parent on parent.oid = inhparent
join pg_class as child on child.oid = inhrelid
join pg_namespace as space on space.oid = parent.relnamespace
where space.nspname in ('bellhop', 'bellhop_state') and parent.relkind = 'p' and child.relkind in ('r', 'p')
order by 1, 2
