-- Records that are held, $1 at most: an index scan of them.
select count(*)::integer as held from (select from bellhop.quarantine where state = 'h' limit $1) as record
