-- As lock-buckets, of one bucket: the row is locked on the worker that has the bucket, in the transaction that writes there.
select bucket, epoch::text as epoch, next_change::text as next_change
from bellhop.bucket_lease
where bucket = $1
for update
