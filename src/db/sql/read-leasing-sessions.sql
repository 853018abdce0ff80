-- The sessions that the buckets were leased by.
select backend_pid, backend_start::text as backend_start from bellhop.bucket_lease
