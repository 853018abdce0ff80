-- The leases of the buckets $1, from the workers that have them.
select bucket, epoch::text as epoch, owner, backend_pid, backend_start::text as backend_start
from bellhop.bucket_lease
where bucket = any ($1::smallint[])
