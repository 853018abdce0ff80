-- Of the properties $3 of the buckets $2, those with entries to pack that have no segments or have arrivals after id $1 (null: any), the
-- longest unpacked first. Each lateral with a limit is one index lookup; `exists` was planned as a scan of all entries.
select home.bucket, property.property_id
from bellhop.bucket_lease as home
join unnest($2::smallint[], $3::integer[]) as property (bucket, property_id) on property.bucket = home.bucket
left join lateral (
  select entry.first_night from bellhop_state.night_entry as entry
  where entry.bucket = home.bucket and entry.property_id = property.property_id and entry.nights <= 31
  order by entry.first_night limit 1
) as entry on true
left join lateral (
  select delta.first_night from bellhop_state.ledger_delta as delta
  where delta.bucket = home.bucket and delta.property_id = property.property_id and delta.nights <= 31
  order by delta.first_night limit 1
) as delta on true
left join bellhop_state.ledger_segment_progress as packed on packed.bucket = home.bucket and packed.property_id = property.property_id
left join lateral (
  select arrival.last_request_id from bellhop.feed_arrival as arrival
  where arrival.bucket = home.bucket and arrival.property_id = property.property_id and arrival.resource = 'r'
  order by arrival.last_request_id desc limit 1
) as reservations on true
left join lateral (
  select arrival.last_request_id from bellhop.feed_arrival as arrival
  where arrival.bucket = home.bucket and arrival.property_id = property.property_id and arrival.resource = 'g'
  order by arrival.last_request_id desc limit 1
) as groups on true
where (entry.first_night is not null or delta.first_night is not null)
  and (
    packed.received_up_to is null or $1::uuid is null
    or greatest(reservations.last_request_id, groups.last_request_id) > $1::uuid
  )
order by packed.received_up_to nulls first, property.property_id
