-- As read-newest-id, of the buckets $1.
select request_id from bellhop.accept_log where bucket = any ($1::smallint[]) order by request_id desc limit 1
