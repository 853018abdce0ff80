-- How many records are held, $1 at most. An index-only scan of quarantine_held_order.
select count(*)::integer as held from (select from bellhop.quarantine where state = 'h' limit $1) as counted
