-- Advances or creates cursors. The update addresses each row by its complete primary key.
with position as materialized (
  select sent.bucket, sent.log_writer_id, sent.request_id, cursor.request_id as former
  from json_to_recordset($1::json) as sent (bucket smallint, log_writer_id bigint, request_id uuid)
  left join lateral (
    select passed.request_id from apply_cursor as passed
    where passed.bucket = sent.bucket and passed.log_writer_id = sent.log_writer_id
    order by passed.request_id desc limit 1
  ) as cursor on true
), moved as (
  update apply_cursor as cursor set request_id = position.request_id
  from position
  where cursor.bucket = position.bucket and cursor.log_writer_id = position.log_writer_id and cursor.request_id = position.former
)
insert into apply_cursor (bucket, log_writer_id, request_id)
select bucket, log_writer_id, request_id from position where former is null
