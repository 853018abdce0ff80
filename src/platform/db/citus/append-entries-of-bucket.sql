-- One flush of one log writer, as append-entries without the keys, of the bucket $3 only. Made from the bucket's own row, so that Citus
-- hands it whole to the worker, where it is a transaction like any other; so what is promised has to be there as well.
{../../../ingest/log/sql/insert-entries of home.bucket}
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as e (
  {../../../ingest/log/sql/entry-fields}
)
left join bellhop.bucket_closed_timestamp as promise on promise.bucket = home.bucket
where home.bucket = $3
  and 1 / (case when e.request_id > coalesce(promise.promised, '00000000-0000-0000-0000-000000000000') then 1 else 0 end) = 1
