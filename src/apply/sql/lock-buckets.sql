-- The first statement of every apply transaction: holds the leases of the buckets it will write to its end.
select bucket, epoch::text as epoch
from bellhop.bucket_lease
where bucket = any ($1::smallint[])
order by bucket
for update
