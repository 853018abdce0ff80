-- As take-buckets, of one bucket ($1, at the epoch $5), for the backend $3 of the coordinator, which began at $4.
with free as (
  select bucket from bellhop.bucket_lease where bucket = $1 and epoch = $5::bigint for update skip locked
)
update bellhop.bucket_lease as lease
set epoch = lease.epoch + 1, owner = $2, backend_pid = $3::integer, backend_start = $4::timestamptz
from free
where lease.bucket = $1 and free.bucket = $1
returning lease.bucket, lease.epoch::text as epoch
