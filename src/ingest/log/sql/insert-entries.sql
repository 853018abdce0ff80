-- Inserts the entries of a flush into bucket {of}, from their descriptions in $1 and the bytes in $2.
insert into bellhop.accept_log (
  bucket, log_writer_id, request_id, kind, resource, client_id, received_at, record_count, batch_record_count,
  batch_part_count, lenient, correlation_id, reply_to, target_request_id, target_index, rejections, backfill_id, trace_context, layout, body
)
select
  {of}, log_writer_id, request_id, kind, resource, client_id, received_at, record_count, batch_record_count,
  batch_part_count, lenient, correlation_id, reply_to, target_request_id, target_index,
  convert_from(substring($2::bytea from rejections_from for rejections_bytes), 'UTF8')::json, backfill_id, decode(trace_context, 'hex'),
  substring($2::bytea from layout_from for layout_bytes), substring($2::bytea from body_from for body_bytes)
