-- What inventory says is sold of the nights from $3 to $4, by room type (virtual ones aside): of the version that counts at the
-- source time $5 as received up to $6, and not held then; at most $7 rows. The current record tells of nearly every night; only where it is newer
-- than that are versions walked back, and they lie in the order of time, so what is walked is what came since.
with held as materialized (
  select request_id, record_index
  from bellhop.quarantine
  where bucket = $1 and property_id = $2 and resolved_by >= analytics.first_request_id_after($6)
)
select
  known.key as night, version.request_id, version.record_index,
  to_char(version.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time, room.room_type,
  room.capacity::float8 as capacity, room.out_of_order::float8 as out_of_order, room.sold::float8 as sold,
  room.transient::float8 as transient, room.grouped::float8 as grouped
from bellhop_state.current_record as known
cross join lateral (
  select known.source_time <= $5 and known.request_id < analytics.first_request_id_after($6)
    and (known.request_id, known.record_index) not in (select request_id, record_index from held) as counts
) as current
cross join lateral (
  select known.source_time, known.facts_source_time, known.content_hash, known.request_id, known.record_index
  where current.counts
  union all
  (
    select older.source_time, older.facts_source_time, older.content_hash, older.request_id, older.record_index
    from bellhop_state.inventory_version as older
    where not current.counts
      and older.bucket = $1 and older.property_id = $2 and older.key = known.key
      and older.source_time <= least($5, $6 + interval '1 hour') and older.request_id < analytics.first_request_id_after($6)
      and (older.request_id, older.record_index) not in (select request_id, record_index from held)
    order by older.source_time desc, older.request_id desc, older.record_index desc
    limit 1
  )
) as version
-- More room types are left out (packages/contract/src/insight-bounds.ts): the text of a thousand is never longer than this, and how long one
-- is, is known without reading it.
join lateral (
  select 1
  from bellhop_state.inventory_version as stored
  where stored.bucket = $1 and stored.property_id = $2 and stored.key = known.key
    and stored.source_time = version.facts_source_time and stored.content_hash = version.content_hash
    and octet_length(stored.facts) <= 1000000
  limit 1
) as short on true
join analytics.stored_inventory_version as facts
  on facts.bucket = $1 and facts.property_id = $2 and facts.key = known.key
  and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
  and cardinality(facts.room_type_code) <= 1000
cross join lateral (
  select told.room_type, sum(told.capacity) as capacity, sum(told.maintenance) + sum(told.other) as out_of_order,
    sum(told.sold) as sold, sum(told.transient) as transient, sum(told.grouped) as grouped
  from unnest(facts.room_type_code, facts.is_virtual, facts.room_type_capacity, facts.rooms_not_available_maintenance,
    facts.rooms_not_available_other, facts.rooms_sold, facts.transient_sold, facts.group_sold
  ) as told (room_type, is_virtual, capacity, maintenance, other, sold, transient, grouped)
  where told.is_virtual is not true
  group by told.room_type
) as room
where known.bucket = $1 and known.property_id = $2 and known.resource = 'i' and known.key between $3 and $4
order by known.key, room.room_type
limit $7
