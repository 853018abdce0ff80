-- The columns of the tables $1 that are numbered by themselves, and the sequence that numbers each.
select
  format('%s.%s', namespace.nspname, numbered.relname) as table, attname as column,
  pg_get_serial_sequence(format('%I.%I', namespace.nspname, numbered.relname), attname) as sequence
from pg_attribute
join pg_class as numbered on numbered.oid = attrelid
join pg_namespace as namespace on namespace.oid = numbered.relnamespace
where attidentity <> '' and not attisdropped and numbered.relkind in ('r', 'p')
  and format('%s.%s', namespace.nspname, numbered.relname) = any ($1::text[])
