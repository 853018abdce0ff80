insert into released_copy (bucket, property_id, resource, key, source_time, content_hash, request_id, record_index,
  counts_from)
select bucket, property_id, resource, key, source_time, decode(content_hash, 'hex'), request_id, record_index, counts_from
from json_to_recordset($1::json) as copy (bucket smallint, property_id integer, resource "char", key text,
  source_time timestamptz, content_hash text, request_id uuid, record_index integer, counts_from uuid)
on conflict do nothing
