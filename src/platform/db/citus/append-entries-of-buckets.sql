-- One flush of one log writer, as append-entries without the keys, of any buckets: the coordinator makes the rows, looks at what is
-- promised, sends each row to its worker, and all in two phases.
{../../../ingest/log/sql/insert-entries of bucket}
from json_to_recordset($1::json) as e (
  bucket smallint, {../../../ingest/log/sql/entry-fields}
)
where 1 / (case when e.request_id > coalesce((select promised from bellhop.closed_timestamp), '00000000-0000-0000-0000-000000000000')
  then 1 else 0 end) = 1
