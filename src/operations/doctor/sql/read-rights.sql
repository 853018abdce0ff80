-- Privileges of the service's role, and the number of Bellhop tables that it cannot alter.
select
  current_user::text as role,
  has_database_privilege(current_database(), 'create') as "mayCreate",
  pg_has_role('pg_monitor', 'usage') as "seesAll",
  pg_has_role('pg_signal_backend', 'usage') as "endsAll",
  (
    select count(*)::integer from pg_class as relation
    join pg_namespace as space on space.oid = relation.relnamespace
    where space.nspname in ('bellhop', 'bellhop_state', 'bellhop_migration', 'analytics')
      and relation.relkind in ('r', 'p', 'v') and not pg_has_role(relation.relowner, 'usage')
  ) as foreign,
  (
    select count(distinct usename)::integer from pg_stat_activity
    where datname = current_database() and application_name like 'bellhop%'
  ) as roles
