-- The log writers that have something in a bucket: from one to the next along the log's key, as there may be thousands of rows of each.
with recursive found (log_writer_id) as (
  (select log_writer_id from bellhop.accept_log where bucket = $1 order by log_writer_id limit 1)
  union all
  select (
    select log.log_writer_id from bellhop.accept_log as log
    where log.bucket = $1 and log.log_writer_id > found.log_writer_id order by log.log_writer_id limit 1
  )
  from found where found.log_writer_id is not null
)
select log_writer_id::text as log_writer_id from found where log_writer_id is not null order by found.log_writer_id
