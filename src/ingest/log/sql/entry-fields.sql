-- Columns of an entry in $1, except its bucket.
log_writer_id bigint, request_id uuid, kind "char", resource "char", client_id text,
received_at timestamptz, record_count integer, batch_record_count integer, batch_part_count smallint,
lenient boolean, correlation_id text, reply_to text, target_request_id uuid, target_index integer,
rejections_from integer, rejections_bytes integer, backfill_id uuid, trace_context text, layout_from integer, layout_bytes integer, body_from integer, body_bytes integer
