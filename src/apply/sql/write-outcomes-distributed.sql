-- As write-outcomes, of parts of the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select home.bucket, part.request_id, statement_timestamp(), part.outcomes, part.details
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as part (request_id uuid, outcomes text, details json)
where home.bucket = $2
