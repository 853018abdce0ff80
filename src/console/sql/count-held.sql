-- How many records are held, $1 at most. An index-only scan of quarantine_held_order. (Citus gathers no rows without a column.)
select count(*)::integer as held from (select 1 from bellhop.quarantine where state = 'h' limit $1) as counted
