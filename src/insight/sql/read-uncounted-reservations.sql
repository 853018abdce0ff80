-- Current reservations of property $2 in bucket $1 that do not count for night $3: with more than $4 nights, or arriving and departing on that
-- date; at most $5 of each. Plan: index scans of current_record_endless and current_record_dates.
(
  select key, request_id as "requestId", record_index as index, true as "isEndless"
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource = 'r' and to_date - from_date > 1100
    and from_date <= $3::date and to_date > $3::date and to_date - from_date > $4::integer
  order by from_date desc
  limit $5
)
union all
(
  select key, request_id, record_index, false
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource = 'r' and from_date = $3::date and to_date = $3::date
  order by key
  limit $5
)
