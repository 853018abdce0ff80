-- The next $3 parts of a window after ($1, $2), in the order of receipt, with the indexes of their records that are pointed to.
-- The window's own table is put in the place of the log's.
select log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource,
  coalesce(octet_length(log.body), 0) as stored_bytes,
  array(
    select pointed.record_index from pointed_record as pointed
    where pointed.request_id = log.request_id and pointed.bucket = log.bucket
  ) as pointed
from bellhop.accept_log as log
where (log.request_id, log.bucket) > ($1::uuid, $2::integer)
order by log.request_id, log.bucket
limit $3
