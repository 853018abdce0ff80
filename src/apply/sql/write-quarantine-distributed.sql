-- As write-quarantine, in the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into bellhop.quarantine (bucket, request_id, record_index, property_id, resource, key, code, message)
select
  home.bucket, held.request_id, held.record_index, held.property_id, held.resource, held.key, held.code, held.message
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as held (
  request_id uuid, record_index integer, property_id integer, resource "char", key text, code text, message text
)
where home.bucket = $2
