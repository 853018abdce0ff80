-- As read-changes, of one bucket, on the worker that has it.
select
  $1::smallint as bucket,
  change.resource, change.change_no::float8 as change_no, change.property_id, change.key,
  to_char(change.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time,
  change.request_id, change.record_index, coalesce(change.is_update, false) as is_update
from (
  (
    select 'i' as resource, change_no, property_id, key, source_time, request_id, record_index, is_update
    from bellhop_state.inventory_version
    where bucket = $1::smallint and change_no > $2::bigint and change_no <= $3::bigint
      and strpos($6::text, 'i') > 0 and (property_id in (select unnest($5::integer[]))) is true
    order by change_no limit $4::integer
  )
  union all
  (
    select 'r' as resource, change_no, property_id, key, source_time, request_id, record_index, is_update
    from bellhop_state.reservation_version
    where bucket = $1::smallint and change_no > $2::bigint and change_no <= $3::bigint
      and strpos($6::text, 'r') > 0 and (property_id in (select unnest($5::integer[]))) is true
    order by change_no limit $4::integer
  )
  union all
  (
    select 'g' as resource, change_no, property_id, key, source_time, request_id, record_index, is_update
    from bellhop_state.group_version
    where bucket = $1::smallint and change_no > $2::bigint and change_no <= $3::bigint
      and strpos($6::text, 'g') > 0 and (property_id in (select unnest($5::integer[]))) is true
    order by change_no limit $4::integer
  )
  order by change_no
  limit $4::integer
) as change
order by change.change_no
