-- Arrivals, departures and stay-throughs of the nights from $5 to $6, by currency, and rooms cancelled and not shown on them, of property
-- ($3, $4) as of $1 by clock $2: at most $7 rows. The function is that of analysts (docs/analytics.md), and reads status mappings and settings.
select
  stay_date::text as night, null::text as unit, currency_code as currency, arrivals, departures, stay_throughs as "stayThroughs",
  stay_rooms as "stayRooms", stay_nights::text as "stayNights", lead_rooms as "leadRooms", lead_room_days::text as "leadDays",
  cancelled_rooms as cancelled, cancelled_room_revenue::text as "cancelledRevenue", cancelled_room_days::text as "cancelledDays",
  no_show_rooms as "noShows", no_show_room_revenue::text as "noShowRevenue"
from analytics.movement_as_of($1, $2::text::analytics.clock, $3, $4, $5, $6)
order by stay_date, currency_code collate "C"
limit $7
