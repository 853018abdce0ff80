-- What inventory tells of rooms on the nights $3, by the versions that hold its content ($4, $5): by room type, or, where $6 is
-- not set, of all together. Virtual room types are not rooms of their own. Rows after the night $7 and its room type $8, that
-- one included; at most $9. Nested loop: one lookup by primary key a night.
select
  stock.night, stock.unit, sum(stock.capacity)::text as capacity, sum(stock.off)::text as off, sum(stock.sold)::text as sold
from (
  select
    wanted.night, case when $6::boolean then room.code end as unit, room.capacity::bigint as capacity,
    coalesce(room.maintenance, 0)::bigint + coalesce(room.other, 0) as off, room.sold::bigint as sold
  from unnest($3::text[], $4::timestamptz[], $5::text[]) as wanted (night, facts_source_time, content_hash)
  join bellhop_state.inventory_version as version
    on version.bucket = $1 and version.property_id = $2 and version.key = wanted.night
    and version.source_time = wanted.facts_source_time and version.content_hash = decode(wanted.content_hash, 'hex')
  cross join lateral (select version.facts::bellhop.inventory_facts as facts) as held
  cross join lateral unnest((held.facts).room_type_code, (held.facts).is_virtual, (held.facts).room_type_capacity,
    (held.facts).rooms_not_available_maintenance, (held.facts).rooms_not_available_other, (held.facts).rooms_sold
  ) as room (code, is_virtual, capacity, maintenance, other, sold)
  where not room.is_virtual
) as stock
where stock.night collate "C" > $7 or stock.night = $7 and (stock.unit is null or stock.unit collate "C" >= $8)
group by stock.night, stock.unit
order by stock.night collate "C", stock.unit collate "C" nulls last
limit $9
