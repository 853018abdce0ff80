-- The next change number of each of the buckets $1, in a statement of its own, once their leases are locked: the one that
-- locked them may have waited for a transaction whose numbers it does not see.
select counter.bucket, counter.next_change::text as next_change
from unnest($1::smallint[]) as locked (bucket)
cross join lateral (
  select * from bellhop.change_counter as any_version
  where any_version.bucket = locked.bucket
  order by any_version.next_change desc limit 1
) as counter
