-- What became of the records of each part. The primary key makes a part that is applied twice an error, not a fact.
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select bucket, request_id, clock_timestamp(), outcomes, details
from json_to_recordset($1::json) as part (bucket smallint, request_id uuid, outcomes text, details json)
