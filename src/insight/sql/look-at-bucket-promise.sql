-- What is settled of the bucket $1 where tables are distributed.
select settled::text as settled from bellhop.bucket_promise where bucket = $1
