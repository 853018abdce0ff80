-- Byte ranges of stored bodies, in the order requested. The column is stored out of line and uncompressed, so a range reads only its pages.
-- Same lookup as read-layouts. Null if the SHA-256 of a part's layout is not $5 (null: not checked): the part was rewritten.
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
