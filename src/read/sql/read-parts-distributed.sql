-- As read-parts: a join in place of a lookup for each part, which Citus cannot send to the workers. $4 are the buckets again,
-- each once: only their shards are asked.
select log.bucket, log.request_id, log.layout, case when octet_length(log.body) <= $3::integer then log.body end as body
from unnest($1::smallint[], $2::uuid[]) as part (bucket, request_id)
join bellhop.accept_log as log on log.request_id = part.request_id and log.bucket = part.bucket
where log.kind in ('b', 'c') and log.bucket = any ($4::smallint[]) and log.request_id = any ($2::uuid[])
