-- As read-chunks: a join in place of a lookup for each chunk. $5 are the buckets again, each once.
select substring(log.body from chunk.from_byte + 1 for chunk.bytes) as stored
from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[])
  with ordinality as chunk (bucket, request_id, from_byte, bytes, place)
join bellhop.accept_log as log on log.request_id = chunk.request_id and log.bucket = chunk.bucket
where log.kind in ('b', 'c') and log.bucket = any ($5::smallint[]) and log.request_id = any ($2::uuid[])
order by chunk.place
