-- The layouts of some parts of batches. For each an index scan by id, in its one partition only (the others are pruned
-- when the part is looked up: "never executed"); 64 parts: 0.4 ms.
select part.bucket, part.request_id, log.layout
from unnest($1::smallint[], $2::uuid[]) as part (bucket, request_id)
cross join lateral (
  select layout from bellhop.accept_log as log
  where log.request_id = part.request_id and log.bucket = part.bucket and log.kind = 'b'
  limit 1
) as log
