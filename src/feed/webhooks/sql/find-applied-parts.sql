-- Parts of the buckets $1 that are applied and not yet told of, at most $2.
select bucket, request_id, client_id
from bellhop.applied_part
where bucket = any ($1::smallint[])
order by bucket, request_id
limit $2
