-- Pickup of each night from $3 to $4 after $5 and up to $6, by grouping $19, currency and cause, in the statuses $7 ($15 are not on the books: of
-- these, fees): at most $9 rows after ($10 … $14). Compares the two states of each reservation, or of each share as a whole: more rooms on a
-- night in a group are booked, fewer are cancelled. On a night on which a reservation shares its room at either instant, it counts with its
-- share at both, so starting to share a room is no booking. $16 to $18: shares that a member links, by night, and what they are compared as.
with entry as materialized (
  select
    dimension, key, share_id, greatest(first_night, $3::date) as first_night, least(first_night + nights, $4::date + 1) as end_night,
    rooms, adults, children, room_revenue, gross_room_revenue
  from ({../../platform/db/analytics/sql/entries-of-nights}) as stored
  where {time} > $5 and {time} <= $6
),
shared_entry as materialized (
  select *, {time} <= $5 as is_before
  from ({parts/shared-entries}) as stored
  where {time} <= $6
),
reported as (
  select
    dimension, {unit-by of $19} as unit, coalesce(currency_code, $8) as currency, cause, (status = any ($7::text[])) is true as deducts,
    (status = any ($15::text[])) is true as is_off
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status = any ($7::text[] || $15::text[])
    and dimension in (select dimension from entry union all select dimension from shared_entry)
),
kind as materialized (
  select dimension, dense_rank() over (order by unit, currency, cause) as cell, unit, currency, cause, deducts
  from (select dimension, unit, currency, {parts/cause-of-kind} as cause, deducts from reported) as named
  where deducts or cause = 'fee'
),
run as materialized (
  select
    kind.cell, entry.key, entry.first_night, entry.end_night,
    case when kind.deducts and entry.share_id is null then entry.rooms else 0 end as rooms, kind.cause = 'dayUse' as is_day_use,
    case when kind.deducts then entry.adults else 0 end as adults, case when kind.deducts then entry.children else 0 end as children,
    entry.room_revenue, case when kind.deducts then entry.gross_room_revenue end as gross_room_revenue
  from entry join kind using (dimension)
),
place_of_kind as ({parts/places-of-kinds}),
sharer_night as (
  select
    case when cause is null then 'n' else 'd' end || share_id as share_id, sharer, cell, place, first_night + passed as night, is_after,
    sum(rooms) as rooms
  from shared_entry
  join place_of_kind using (dimension)
  join kind using (dimension)
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  cross join (values (false), (true)) as instant (is_after)
  where kind.deducts and (is_after or is_before)
  group by 1, sharer, cell, place, first_night + passed, is_after
  having sum(rooms) <> 0
),
link as (
  select night, share_id, compared_as
  from unnest($16::date[], $17::text[], $18::text[]) as linked (night, share_id, compared_as)
),
member_night as materialized (
  select sharer as key, night, left(share_id, 1) = 'd' as is_day_use, min(share_id) as share_id
  from sharer_night group by 1, 2, 3
),
member as materialized (
  select distinct key from member_night
),
key_change as (
  select key, cell, night, sum(rooms) as rooms
  from (
    select key, cell, first_night as night, rooms from run where rooms <> 0
    union all
    select key, cell, end_night, -rooms from run where rooms <> 0
  ) as ends
  where key not in (select key from member)
  group by key, cell, night
  having sum(rooms) <> 0
),
key_stretch as (
  select
    cell, night, lead(night) over so_far as end_night, sum(rooms) over so_far as rooms
  from key_change
  window so_far as (partition by key, cell order by night)
),
shared_room as ({parts/settled-shares}),
-- The rooms of shares, and those that their members have alone.
compared as (
  select share_id, 'k' as key, cell, night, case when is_after then rooms else -rooms end as rooms from shared_room
  union all
  select member_night.share_id, run.key, run.cell, run.first_night + passed, run.rooms
  from run
  join member using (key)
  cross join lateral generate_series(0, run.end_night - run.first_night - 1) as passed
  left join member_night
    on member_night.key = run.key and member_night.night = run.first_night + passed
    and member_night.is_day_use = coalesce(run.is_day_use, false)
  where run.rooms <> 0
),
share_change as (
  select cell, night, sum(rooms) as rooms
  from compared left join link using (night, share_id)
  group by coalesce(compared_as, share_id, 'k' || key), cell, night
),
change as (
  select cell, first_night as night, 0 as booked, 0 as cancelled, sum(adults) as adults, sum(children) as children,
    sum(room_revenue) as room_revenue, sum(gross_room_revenue) as gross_room_revenue,
    count(room_revenue) as priced, count(gross_room_revenue) as gross_priced
  from run group by cell, first_night
  union all
  select cell, end_night, 0, 0, -sum(adults), -sum(children), -sum(room_revenue), -sum(gross_room_revenue),
    -count(room_revenue), -count(gross_room_revenue)
  from run group by cell, end_night
  union all
  select cell, edge.night, sum(edge.sign * greatest(rooms, 0)), sum(edge.sign * greatest(-rooms, 0)), 0, 0, null, null, 0, 0
  from key_stretch cross join lateral (values (night, 1), (end_night, -1)) as edge (night, sign)
  where rooms <> 0
  group by cell, edge.night
  union all
  select cell, edge.night, sum(edge.sign * greatest(rooms, 0)), sum(edge.sign * greatest(-rooms, 0)), 0, 0, null, null, 0, 0
  from share_change cross join lateral (values (night, 1), (night + 1, -1)) as edge (night, sign)
  group by cell, edge.night
),
stretch as (
  select
    cell, night, lead(night, 1, $4::date + 1) over passed as end_night,
    sum(booked) over passed as booked, sum(cancelled) over passed as cancelled,
    sum(adults) over passed as adults, sum(children) over passed as children,
    sum(room_revenue) over passed as room_revenue, sum(gross_room_revenue) over passed as gross_room_revenue,
    sum(priced) over passed as priced, sum(gross_priced) over passed as gross_priced
  from change
  -- Rows of one night come in any order; only the last one's running sum is complete, so the others get no stretch.
  window passed as (partition by cell order by night rows unbounded preceding)
)
select
  (night + passed)::text as night, unit, currency, cause, booked::text, cancelled::text, adults::text, children::text,
  case when priced <> 0 then room_revenue::text end as room_revenue,
  case when gross_priced <> 0 then gross_room_revenue::text end as gross_room_revenue
from stretch
join (select distinct cell, unit, currency, cause from kind) as named using (cell)
cross join lateral generate_series(0, end_night - night - 1) as passed
where end_night > night
  and (booked <> 0 or cancelled <> 0 or adults <> 0 or children <> 0 or room_revenue <> 0 or gross_room_revenue <> 0)
  and (night + passed, unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
    > ($10::date, $11::boolean, $12::text collate "C", $13::boolean, $14::text collate "C")
order by night + passed, cell
limit $9
