-- Records that are held, $1 at most: an index scan of them. (Citus gathers no rows without a column.)
select count(*)::integer as held from (select 1 from bellhop.quarantine where state = 'h' limit $1) as record
