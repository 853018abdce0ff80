update bellhop.bucket_promise set settled = greatest(settled, $2::uuid) where bucket = $1
