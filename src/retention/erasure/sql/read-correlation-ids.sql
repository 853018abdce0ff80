select distinct request_id, correlation_id from bellhop.accept_log
where request_id = any ($1::uuid[]) and correlation_id is not null
