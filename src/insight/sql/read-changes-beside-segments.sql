-- Changes of the books outside segments (received after $10, runs of more than 31 nights, shared rooms, blocks), by grouping, currency,
-- cause and night.
with {parts/changes-of-books}
select
  unit, currency, cause, night::text as night, sum(rooms)::float8 as rooms, sum(unmapped_rooms)::float8 as unmapped_rooms,
  sum(adults)::float8 as adults, sum(children)::float8 as children,
  sum(room_revenue)::text as room_revenue, sum(gross_room_revenue)::text as gross_room_revenue,
  sum(priced_rooms)::float8 as priced_rooms, sum(gross_priced_rooms)::float8 as gross_priced_rooms, sum(blocks)::float8 as blocks
from change join cell using (cell)
group by unit, currency, cause, change.night
