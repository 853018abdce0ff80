-- Where the records of one request lie and what became of them: small per record (a letter and some bytes), whatever
-- their details hold. rejected and detailed are indexes in the batch.
-- Plan: index scan of accept_log_client in one partition, then request_outcome's primary key.
select
  log.bucket, log.layout, outcome.outcomes,
  array(select (rejection ->> 'index')::integer from json_array_elements(log.rejections) as rejection) as rejected,
  array(select json_object_keys(outcome.details)::integer) as detailed
from bellhop.accept_log as log
left join bellhop.request_outcome as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
where log.request_id = $2 and log.client_id = $1 and log.kind = 'b'
