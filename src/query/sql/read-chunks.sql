-- Byte ranges of stored bodies, in the order asked for. The column is stored outside the row and uncompressed by
-- PostgreSQL, so a range reads only its own pages. Looked up as in read-layouts. Null where a part's layout has another SHA-256
-- than it had ($5, null: not asked): it was rewritten, and the ranges are not of its body.
select log.stored
from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::bytea[])
  with ordinality as chunk (bucket, request_id, from_byte, bytes, layout_hash, place)
cross join lateral (
  select
    case when chunk.layout_hash is null or sha256(log.layout) = chunk.layout_hash
      then substring(log.body from chunk.from_byte + 1 for chunk.bytes) end as stored
  from bellhop.accept_log as log
  where log.request_id = chunk.request_id and log.bucket = chunk.bucket and log.kind in ('b', 'c')
  limit 1
) as log
order by chunk.place
