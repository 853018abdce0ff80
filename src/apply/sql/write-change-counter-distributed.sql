update bellhop.bucket_lease set next_change = $2::bigint where bucket = $1
