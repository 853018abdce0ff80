-- Changes of the booking curves of the nights $3 to $4 together, up to $5, by grouping and currency, in the statuses $6, by days before the
-- night (summed in pace.ts). Business days end $9 minutes after midnight in time zone $8; changes $10 or more days before count as one. A
-- run of nights is also a run of days, of which only the ends are summed. Returns the first $15 cells from ($11 … $14).
-- Each row has the day of the first change of all. A change's day is the number of ends of business days up to it, of which there are few; earlier changes are on the first.
with entry as materialized (
  select dimension, share_id, key, rooms, room_revenue, gross_room_revenue,
    greatest(first_night, $3::date) as first, least(first_night + nights - 1, $4::date) as last,
    $3::date - $10::integer + width_bucket({time}, (
      select array_agg((day + make_interval(mins => $9)) at time zone $8 order by day)
      from generate_series($3::date - $10::integer + 1, $4::date + interval '1 day', interval '1 day') as day
    )) as day
  from ({../../platform/db/analytics/sql/entries-of-nights}) as stored
  where {time} <= $5
),
kind as materialized (
  select
    dimension, dense_rank() over (order by {unit}, coalesce(currency_code, $7)) as cell,
    {unit} as unit, coalesce(currency_code, $7) as currency
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status = any ($6::text[]) and coalesce(cause = 'posted', true)
    and dimension = any (array(select dimension from entry))
),
run as materialized (
  select
    kind.cell, entry.first, entry.last, entry.day,
    -- The nights entered fewer than $10 days before, and the number entered earlier.
    greatest(entry.first - entry.day, 0) as least_days, least(entry.last - entry.day, $10 - 1) as most_days,
    greatest(entry.last - entry.day - greatest(entry.first - entry.day, $10::integer) + 1, 0) as early_nights,
    case when entry.share_id is null then entry.rooms else 0 end as rooms, entry.room_revenue, entry.gross_room_revenue,
    -- Whether any room reports an amount.
    case when entry.room_revenue is null then 0 else entry.rooms end as priced,
    case when entry.gross_room_revenue is null then 0 else entry.rooms end as gross_priced
  from entry join kind using (dimension)
  where entry.last >= entry.day
),
shared_entry as materialized (
  select dimension, share_id, key as sharer, rooms, first, last, day from entry where share_id is not null and last >= day
),
place_of_kind as ({parts/places-of-kinds}),
entered as materialized (
  select
    share_id, sharer, cell, place, first + passed as night, least(first + passed - day, $10::integer) as days, sum(rooms) as rooms
  from shared_entry
  join place_of_kind using (dimension)
  join kind using (dimension)
  cross join lateral generate_series(greatest(day - first, 0), last - first) as passed
  group by share_id, sharer, cell, place, first + passed, least(first + passed - day, $10::integer)
),
step as (
  select share_id, night, days, lead(days) over (partition by share_id, night order by days desc) as next_days
  from (select distinct share_id, night, days from entered) as reported
),
sharer_night as (
  select step.share_id, step.night, step.days, step.next_days, sharer, cell, place, sum(rooms) as rooms
  from step
  join entered on entered.share_id = step.share_id and entered.night = step.night and entered.days >= step.days
  group by step.share_id, step.night, step.days, step.next_days, sharer, cell, place
  having sum(rooms) <> 0
),
shared_room as ({parts/settled-shares}),
change as (
  select cell, least_days as days, sum(rooms) as slope_rooms, sum(room_revenue) as slope_revenue,
    sum(gross_room_revenue) as slope_gross, sum(priced) as slope_priced, sum(gross_priced) as slope_gross_priced, 0 as level_rooms,
    null::numeric as level_revenue, null::numeric as level_gross, 0 as level_priced, 0 as level_gross_priced
  from run where least_days <= most_days group by cell, least_days
  union all
  select cell, most_days + 1, -sum(rooms), -sum(room_revenue), -sum(gross_room_revenue), -sum(priced), -sum(gross_priced), 0, null, null, 0, 0
  from run where least_days <= most_days group by cell, most_days
  union all
  select cell, $10, 0, null, null, 0, 0, sum(early_nights * rooms::bigint), sum(early_nights * room_revenue),
    sum(early_nights * gross_room_revenue), sum(early_nights * priced::bigint), sum(early_nights * gross_priced::bigint)
  from run where early_nights > 0 group by cell
  union all
  select cell, days, 0, null, null, 0, 0, sum(rooms), null, null, 0, 0 from shared_room group by cell, days
  union all
  select cell, next_days, 0, null, null, 0, 0, -sum(rooms), null, null, 0, 0
  from shared_room where next_days is not null group by cell, next_days
)
select
  unit, currency, days, (select min(day) from entry)::text as first_day, sum(slope_rooms)::text as slope_rooms, sum(slope_revenue)::text as slope_revenue,
  sum(slope_gross)::text as slope_gross, sum(slope_priced)::text as slope_priced, sum(slope_gross_priced)::text as slope_gross_priced,
  sum(level_rooms)::text as level_rooms, sum(level_revenue)::text as level_revenue, sum(level_gross)::text as level_gross,
  sum(level_priced)::text as level_priced, sum(level_gross_priced)::text as level_gross_priced
from change
join (
  select cell, unit, currency
  from (select distinct cell, unit, currency from kind) as named
  where cell in (select cell from change)
    and (unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
      >= ($11::boolean, $12::text collate "C", $13::boolean, $14::text collate "C")
  order by cell
  limit $15
) as reported using (cell)
group by cell, unit, currency, days
order by cell, days desc
