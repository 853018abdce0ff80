update bellhop.bucket_lease set epoch = epoch + 1, owner = null, backend_pid = null, backend_start = null
where bucket = $1
