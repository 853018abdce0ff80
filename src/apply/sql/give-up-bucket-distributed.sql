-- As give-up-buckets, of one bucket, as far as the backend $2 of the coordinator, which began at $3, holds it.
update bellhop.bucket_lease
set epoch = epoch + 1, owner = null, backend_pid = null, backend_start = null
where bucket = $1 and backend_pid = $2::integer and backend_start = $3::timestamptz
