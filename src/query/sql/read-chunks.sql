-- Byte ranges of stored bodies, in the order asked for. The column is stored outside the row and uncompressed by
-- PostgreSQL, so a range reads only its own pages. Looked up as in read-layouts.
select log.stored
from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[])
  with ordinality as chunk (bucket, request_id, from_byte, bytes, place)
cross join lateral (
  select substring(log.body from chunk.from_byte + 1 for chunk.bytes) as stored from bellhop.accept_log as log
  where log.request_id = chunk.request_id and log.bucket = chunk.bucket and log.kind in ('b', 'c')
  limit 1
) as log
order by chunk.place
