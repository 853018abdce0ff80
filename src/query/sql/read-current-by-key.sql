-- Reads the next $6 current records of a property after key $7, from key $4 to $5, in key order. Returns the matches (status $8, source
-- time from $9 on; null: any) and the last record read, so that a page is bounded.
-- Plan: Limit over an index scan of current_record's primary key. 1,000 of 200,000 records: 1.8 ms.
select
  key, from_date as "fromDate", request_id as "requestId", record_index as "index", matches, examined::integer as examined
from (
  select
    page.*,
    ($8::text is null or status = $8) and ($9::timestamptz is null or source_time >= $9) as matches,
    row_number() over (order by key) as place,
    count(*) over () as examined
  from (
    select key, from_date, status, source_time, request_id, record_index
    from bellhop_state.current_record
    where bucket = $1 and property_id = $2 and resource = $3 and key >= $4 and key <= $5 and key > $7
    order by key
    limit $6
  ) as page
) as looked_at
where matches or place = examined
order by place
