-- Batches and records received in each minute from id $1 on and before id $2, by resource. A batch has a row a bucket, each of
-- which counts as its part of the batch; rejected records count too.
-- Plan: an index scan of accept_log_request in one or two partitions.
select
  date_trunc('minute', received_at) as minute, resource,
  round(sum(1.0::float8 / batch_part_count))::integer as batches,
  round(sum(batch_record_count::float8 / batch_part_count))::integer as records
from bellhop.accept_log
where request_id >= $1 and request_id < $2 and kind = 'b'
group by 1, 2
