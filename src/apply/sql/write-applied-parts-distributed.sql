-- Notes parts of the bucket $2 whose client wants to hear of it (as write-outcomes-distributed).
insert into bellhop.applied_part (bucket, request_id, client_id)
select home.bucket, part.request_id, part.client_id
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as part (request_id uuid, client_id text)
where home.bucket = $2
