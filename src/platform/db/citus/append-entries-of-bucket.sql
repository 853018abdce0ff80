-- One flush of one log writer, as append-entries without the keys, of the bucket $3 only. Made from the bucket's own row, so that Citus
-- hands it whole to the worker, where it is a transaction like any other; so what is promised has to be there as well.
insert into bellhop.accept_log (
  bucket, log_writer_id, request_id, kind, resource, client_id, received_at, record_count, batch_record_count,
  batch_part_count, lenient, correlation_id, reply_to, target_request_id, target_index, rejections, backfill_id, trace_context, layout, body
)
select
  home.bucket, log_writer_id, request_id, kind, resource, client_id, received_at, record_count, batch_record_count,
  batch_part_count, lenient, correlation_id, reply_to, target_request_id, target_index,
  convert_from(substring($2::bytea from rejections_from for rejections_bytes), 'UTF8')::json, backfill_id, decode(trace_context, 'hex'),
  substring($2::bytea from layout_from for layout_bytes), substring($2::bytea from body_from for body_bytes)
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as e (
  log_writer_id bigint, request_id uuid, kind "char", resource "char", client_id text,
  received_at timestamptz, record_count integer, batch_record_count integer, batch_part_count smallint,
  lenient boolean, correlation_id text, reply_to text, target_request_id uuid, target_index integer,
  rejections_from integer, rejections_bytes integer, backfill_id uuid, trace_context text, layout_from integer, layout_bytes integer, body_from integer, body_bytes integer
)
left join bellhop.bucket_closed_timestamp as promise on promise.bucket = home.bucket
where home.bucket = $3
  and 1 / (case when e.request_id > coalesce(promise.promised, '00000000-0000-0000-0000-000000000000') then 1 else 0 end) = 1
