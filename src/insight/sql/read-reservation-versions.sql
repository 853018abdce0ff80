-- The version of each of the reservations $3 valid at source time $4 as received up to $5, its arrival, departure and booking time, and the newest stale
-- version received after it. Plan: index scans of reservation_version's key.
select wanted.key as "reservationId", to_char(version.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime",
  version.request_id as "requestId", version.record_index as index, version.from_date::text as arrival,
  version.to_date::text as departure,
  to_char(facts.booking_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "bookedAt", late.request_id as "lateRequestId", late.record_index as "lateIndex"
from unnest($3::text[]) as wanted (key)
cross join lateral (
  select newest.source_time, newest.request_id, newest.record_index, newest.from_date, newest.to_date, newest.facts_source_time,
    newest.content_hash
  from bellhop_state.reservation_version as newest
  where newest.bucket = $1 and newest.property_id = $2 and newest.key = wanted.key
    and newest.source_time <= $4 and newest.request_id < analytics.first_request_id_after($5)
  order by newest.source_time desc, newest.request_id desc, newest.record_index desc
  limit 1
) as version
left join lateral (
  select stored.booking_time
  from analytics.stored_reservation_version as stored
  where stored.bucket = $1 and stored.property_id = $2 and stored.key = wanted.key
    and stored.source_time = version.facts_source_time and stored.content_hash = version.content_hash
  limit 1
) as facts on true
left join lateral (
  select stale.request_id, stale.record_index
  from bellhop_state.reservation_version as stale
  where stale.bucket = $1 and stale.property_id = $2 and stale.key = wanted.key and stale.outcome = 's'
    and stale.source_time <= $4 and stale.request_id < analytics.first_request_id_after($5)
    and (stale.request_id, stale.record_index) > (version.request_id, version.record_index)
  order by stale.request_id desc, stale.record_index desc
  limit 1
) as late on true
