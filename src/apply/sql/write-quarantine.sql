insert into bellhop.quarantine (bucket, request_id, record_index, property_id, resource, key, code, message)
select bucket, request_id, record_index, property_id, resource, key, code, message
from json_to_recordset($1::json) as held (
  bucket smallint, request_id uuid, record_index integer, property_id integer, resource "char", key text, code text,
  message text
)
