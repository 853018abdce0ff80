-- Promises of the bucket $1 up to $2, unless more is promised already.
update bellhop.bucket_promise set promised = greatest(promised, $2::uuid) where bucket = $1
