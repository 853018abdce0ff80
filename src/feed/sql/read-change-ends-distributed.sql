-- As read-change-ends: of all the buckets by one scan on each worker, in the place of a lookup for each.
select bucket, (max(next_change) - 1)::float8 as last_change
from bellhop.change_counter
where bucket = any ($1::smallint[])
group by bucket
