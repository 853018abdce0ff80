-- The lanes that have something in a bucket: from one to the next along the log's key, as there may be thousands of rows of each.
with recursive found (lane_id) as (
  (select lane_id from bellhop.accept_log where bucket = $1 order by lane_id limit 1)
  union all
  select (
    select log.lane_id from bellhop.accept_log as log
    where log.bucket = $1 and log.lane_id > found.lane_id order by log.lane_id limit 1
  )
  from found where found.lane_id is not null
)
select lane_id::text as lane_id from found where lane_id is not null order by found.lane_id
