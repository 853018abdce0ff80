-- How far the bucket {of} is applied in a log writer.
select passed.request_id from bellhop_state.apply_cursor as passed
where passed.bucket = {of} and passed.log_writer_id = log_writer.log_writer_id
order by passed.request_id desc limit 1
