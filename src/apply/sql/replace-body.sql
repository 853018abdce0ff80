-- The records of one part of the log, written anew at the same places (src/ingest/log/rewrite-body.ts).
update bellhop.accept_log set layout = $4, body = $5
where bucket = $1 and log_writer_id = $2 and request_id = $3
