-- As read-current-by-key, but ordered by first date and key, from date $4 to $5, after ($10, $7).
-- Plan: Limit over an incremental sort (presorted by from_date) over an index scan of current_record_dates, which excludes inventory. 444
-- of 200,000 records: 1.8 ms.
select
  key, from_date as "fromDate", request_id as "requestId", record_index as "index", matches, examined::integer as examined
from (
  select
    page.*,
    ($8::text is null or status = $8) and ($9::timestamptz is null or source_time >= $9) as matches,
    row_number() over (order by from_date, key) as place,
    count(*) over () as examined
  from (
    select key, from_date, status, source_time, request_id, record_index
    from bellhop_state.current_record
    where bucket = $1 and property_id = $2 and resource = $3 and resource <> 'i'
      and from_date >= greatest($4::date, $10::date) and from_date <= $5 and (from_date, key) > ($10::date, $7)
    order by from_date, key
    limit $6
  ) as page
) as looked_at
where matches or place = examined
order by place
