-- As read-current-by-key, but returns the newest version of each key received before request id $10, from date $11 to $12. Every key with
-- versions has a current record, so keys are read from there.
-- Plan: Limit over an index scan of current_record's primary key; per key a Limit over an incremental sort (presorted by source_time) over
-- a backward index scan of the versions' primary key. 1,000 keys: 12 ms; for inventory, each night received after the instant adds about 5
-- ms (docs/decisions/0008).
select
  key, from_date as "fromDate", request_id as "requestId", record_index as "index", matches, examined::integer as examined
from (
  select
    page.*,
    request_id is not null and ($8::text is null or status = $8)
      and ($9::timestamptz is null or source_time >= $9) and from_date >= $11 and from_date <= $12 as matches,
    row_number() over (order by key) as place,
    count(*) over () as examined
  from (
    select known.key, version.from_date, version.status, version.source_time, version.request_id, version.record_index
    from (
      select bucket, property_id, key
      from bellhop_state.current_record
      where bucket = $1 and property_id = $2 and resource = $3 and key >= $4 and key <= $5 and key > $7
      order by key
      limit $6
    ) as known
    left join lateral (
      select from_date, status, source_time, request_id, record_index
      from {versions} as version
      where version.bucket = $1 and version.property_id = known.property_id and version.key = known.key
        and version.request_id < $10
      order by source_time desc, request_id desc, record_index desc
      limit 1
    ) as version on true
  ) as page
) as looked_at
where matches or place = examined
order by place
