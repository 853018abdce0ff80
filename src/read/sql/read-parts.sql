-- Some parts of batches: their layouts, and the stored bodies of up to $3 bytes. For each an index scan by id, in its one
-- partition only (the others are pruned when the part is looked up: "never executed").
select part.bucket, part.request_id, log.layout, log.body
from unnest($1::smallint[], $2::uuid[]) as part (bucket, request_id)
cross join lateral (
  select layout, case when octet_length(body) <= $3::integer then body end as body
  from bellhop.accept_log as log
  where log.request_id = part.request_id and log.bucket = part.bucket and log.kind in ('b', 'c')
  limit 1
) as log
