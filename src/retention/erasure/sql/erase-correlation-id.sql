-- All parts of a batch have the same one.
update bellhop.accept_log set correlation_id = $2 where request_id = $1 and correlation_id is not null
