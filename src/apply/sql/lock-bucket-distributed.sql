-- As lock-buckets, of one bucket: the row is locked on the worker that has the bucket, in the transaction that writes there.
select bucket, epoch::text as epoch
from bellhop.bucket_lease
where bucket = $1
for update
