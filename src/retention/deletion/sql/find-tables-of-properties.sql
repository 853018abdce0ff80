-- Every table that has rows of properties by their number: of the live state, of states that swaps of a replay have put aside, and of
-- what is not rebuilt. A table that is made later is found by its column.
select quote_ident(nspname) || '.' || quote_ident(relname) as name
from pg_class
join pg_namespace as schema on schema.oid = relnamespace
join pg_attribute as part on part.attrelid = pg_class.oid and part.attname = 'property_id' and not part.attisdropped
where relkind in ('r', 'p') and not relispartition and relname <> 'property'
  and (nspname in ('bellhop', 'bellhop_state') or nspname ~ '^bellhop_replay_[a-z0-9]+_former$')
order by 1
