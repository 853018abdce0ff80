-- As write-released-copies, in the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into released_copy (bucket, property_id, resource, key, source_time, content_hash, request_id, record_index,
  counts_from)
select home.bucket, property_id, resource, key, source_time, decode(content_hash, 'hex'), request_id, record_index,
  counts_from
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as copy (property_id integer, resource "char", key text,
  source_time timestamptz, content_hash text, request_id uuid, record_index integer, counts_from uuid)
where home.bucket = $2
on conflict do nothing
