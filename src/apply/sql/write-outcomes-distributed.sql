-- As write-outcomes, of parts of the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select home.bucket, part.request_id, statement_timestamp(), part.outcomes,
  convert_from(substring($3::bytea from part.details_from for part.details_bytes), 'UTF8')::json
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as part (request_id uuid, outcomes text, details_from integer, details_bytes integer)
where home.bucket = $2
