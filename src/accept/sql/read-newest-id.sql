-- Also where a lane stands that never wrote: each worker reads the end of one index.
select request_id from bellhop.accept_log order by request_id desc limit 1
