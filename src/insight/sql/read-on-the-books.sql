-- Rooms and revenue on the books of each night from $3 to $4, by grouping, currency and cause: at most $11 rows after the place ($12 … $16).
with {parts/changes-of-books},
stretch as (
  select
    cell, night, lead(night, 1, $4::date + 1) over passed as end_night,
    sum(rooms) over passed as rooms, sum(unmapped_rooms) over passed as unmapped_rooms,
    sum(adults) over passed as adults, sum(children) over passed as children,
    sum(room_revenue) over passed as room_revenue, sum(gross_room_revenue) over passed as gross_room_revenue,
    sum(priced_rooms) over passed as priced_rooms, sum(gross_priced_rooms) over passed as gross_priced_rooms,
    sum(blocks) over passed as blocks
  from change
  -- Rows of one night come in any order; only the last one's running sum is complete, so the others get no stretch.
  window passed as (partition by cell order by night rows unbounded preceding)
)
select
  (night + passed)::text as night, unit, currency, cause, rooms::float8, unmapped_rooms::float8, adults::float8,
  children::float8,
  case when priced_rooms <> 0 or room_revenue <> 0 then room_revenue::text end as room_revenue,
  case when gross_priced_rooms <> 0 or gross_room_revenue <> 0 then gross_room_revenue::text end as gross_room_revenue,
  blocks::float8
from stretch
join cell using (cell)
cross join lateral generate_series(0, end_night - night - 1) as passed
where end_night > night
  and (rooms <> 0 or unmapped_rooms <> 0 or adults <> 0 or children <> 0 or blocks <> 0 or room_revenue <> 0
    or gross_room_revenue <> 0)
  and (night + passed, unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
    > ($12::date, $13::boolean, $14::text collate "C", $15::boolean, $16::text collate "C")
order by night + passed, cell
limit $11
