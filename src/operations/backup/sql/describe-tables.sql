-- The existing tables among $1: their columns except generated ones, and the tables that they reference.
select
  named.name as table,
  array(
    select attname::text from pg_attribute
    where attrelid = named.oid and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum
  ) as columns,
  array(
    select format('%s.%s', namespace.nspname, referenced.relname)
    from pg_constraint as reference
    join pg_class as referenced on referenced.oid = reference.confrelid
    join pg_namespace as namespace on namespace.oid = referenced.relnamespace
    where reference.conrelid = named.oid and reference.contype = 'f' and reference.confrelid <> named.oid
  ) as refers_to,
  (
    select coalesce(json_agg(json_build_object(
      'name', format('%s.%s', namespace.nspname, part.relname), 'bounds', pg_get_expr(part.relpartbound, part.oid)
    ) order by part.relname), '[]')
    from pg_inherits as branch
    join pg_class as part on part.oid = branch.inhrelid
    join pg_namespace as namespace on namespace.oid = part.relnamespace
    where branch.inhparent = named.oid and part.relispartition
  ) as partitions
from (select name, to_regclass(name)::oid as oid from unnest($1::text[]) as name) as named
where named.oid is not null
order by named.name
