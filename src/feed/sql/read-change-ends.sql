-- The number of the last change of each of the buckets $1. A bucket's counter only grows, and the entry that counts is the
-- last of the index (migration 0011): one look each, however many dead ones lie below it.
select counter.bucket, (counter.next_change - 1)::float8 as last_change
from unnest($1::smallint[]) as asked (bucket)
cross join lateral (
  select * from bellhop.change_counter as any_version
  where any_version.bucket = asked.bucket
  order by any_version.next_change desc limit 1
) as counter
