-- The booking curves of the nights from $3 to $4 together, up to an instant ($5), by one grouping and by currency: what to add up by days
-- before the night. Written for room types and the source clock (src/insight/statement-variants.ts). $6 are the labels that
-- deduct, $7 the currency of what names none. A business day is that of the time zone $8, and ends $9 minutes after midnight.
-- All that is $10 days before the night or more is told as one; what is entered after the night's business day is left out.
-- Of the cells from ($11 … $14) on the first $15.
-- A run of nights reaches each of them one day later than the one before, so that on the axis of days it is a run, too: only
-- its ends are summed (`slope`), and what is told at one day (`level`). The curve at a day is the sum of the levels at
-- that day and above, and of the slopes' running sum (src/insight/booking-curve.ts).
-- Shared rooms are settled by night and day. Plan: as read-on-the-books.
with kind as materialized (
  select
    dimension,
    dense_rank() over (order by room_type_code /* by */, coalesce(currency_code, $7)) as cell,
    row_number() over (
      order by room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code, channel,
        currency_code, dimension
    ) as place,
    room_type_code /* by */ as unit,
    coalesce(currency_code, $7) as currency
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status = any ($6::text[])
),
entry as (
  select *, greatest(first_night, $3::date) as first, least(first_night + nights - 1, $4::date) as last,
    (source_time /* clock */ at time zone $8 - make_interval(mins => $9))::date as day
  from (
    select * from bellhop_state.night_entry as t
    where property_id = $2 /* and its bucket */ and nights <= 31
      and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date and source_time /* clock */ <= $5
    union all
    select * from bellhop_state.night_entry as t
    where property_id = $2 /* and its bucket */ and nights > 31
      and first_night <= $4::date and first_night + nights > $3::date and source_time /* clock */ <= $5
  ) as stored
),
run as materialized (
  select
    kind.cell, kind.place, entry.share_id, entry.key as sharer, entry.rooms as all_rooms, entry.first, entry.last, entry.day,
    -- Of its nights those that are entered fewer than $10 days before, and how many are entered earlier.
    greatest(entry.first - entry.day, 0) as least_days, least(entry.last - entry.day, $10 - 1) as most_days,
    greatest(entry.last - entry.day - greatest(entry.first - entry.day, $10::integer) + 1, 0) as early_nights,
    case when entry.share_id is null then entry.rooms else 0 end as rooms, entry.room_revenue, entry.gross_room_revenue
  from entry join kind on kind.dimension = entry.dimension
  where entry.last >= entry.day
),
sharer_night as materialized (
  select
    share_id, sharer, cell, place, first + passed as night, least(first + passed - day, $10::integer) as days, sum(all_rooms) as rooms
  from run cross join lateral generate_series(greatest(day - first, 0), last - first) as passed
  where share_id is not null
  group by share_id, sharer, cell, place, first + passed, least(first + passed - day, $10::integer)
),
step as (
  select share_id, night, days, lead(days) over (partition by share_id, night order by days desc) as next_days
  from (select distinct share_id, night, days from sharer_night) as told
),
sharer_step as (
  select step.share_id, step.night, step.days, step.next_days, sharer, cell, place, sum(rooms) as rooms
  from step
  join sharer_night
    on sharer_night.share_id = step.share_id and sharer_night.night = step.night and sharer_night.days >= step.days
  group by step.share_id, step.night, step.days, step.next_days, sharer, cell, place
  having sum(rooms) <> 0
),
sharer as (
  select
    sharer_step.*,
    min(sharer) over (partition by share_id, night, days) as holder,
    sum(rooms) over (partition by share_id, night, days, sharer) as named,
    place = min(place) over (partition by share_id, night, days, sharer) as is_first
  from sharer_step
),
shared_room as (
  select cell, days, next_days, rooms + case when is_first then most - named else 0 end as rooms
  from (select sharer.*, max(named) over (partition by share_id, night, days) as most from sharer) as room
  where sharer = holder
),
change as (
  select cell, least_days as days, sum(rooms) as slope_rooms, sum(room_revenue) as slope_revenue,
    sum(gross_room_revenue) as slope_gross, 0 as level_rooms, null::numeric as level_revenue, null::numeric as level_gross
  from run where least_days <= most_days group by cell, least_days
  union all
  select cell, most_days + 1, -sum(rooms), -sum(room_revenue), -sum(gross_room_revenue), 0, null, null
  from run where least_days <= most_days group by cell, most_days
  union all
  select cell, $10, 0, null, null, sum(early_nights * rooms::bigint), sum(early_nights * room_revenue), sum(early_nights * gross_room_revenue)
  from run where early_nights > 0 group by cell
  union all
  select cell, days, 0, null, null, sum(rooms), null, null from shared_room group by cell, days
  union all
  select cell, next_days, 0, null, null, -sum(rooms), null, null
  from shared_room where next_days is not null group by cell, next_days
)
select
  unit, currency, days, sum(slope_rooms)::text as slope_rooms, sum(slope_revenue)::text as slope_revenue,
  sum(slope_gross)::text as slope_gross, sum(level_rooms)::text as level_rooms,
  sum(level_revenue)::text as level_revenue, sum(level_gross)::text as level_gross
from change
join (
  select distinct cell, unit, currency
  from kind
  where cell in (select cell from change)
    and (unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
      >= ($11::boolean, $12::text collate "C", $13::boolean, $14::text collate "C")
  order by cell
  limit $15
) as told using (cell)
group by cell, unit, currency, days
order by cell, days desc
