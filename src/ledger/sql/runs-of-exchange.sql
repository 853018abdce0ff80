-- The runs of a row of night_exchange, as rows of night_entry have them: four numbers each, as src/ledger/write-exchanges.ts writes them.
select
  runs[place] as dimension,
  date '1970-01-01' + (runs[place + 1] >> 38)::integer as first_night,
  (runs[place + 1] >> 32 & 63)::integer as nights,
  (runs[place + 1] >> 22 & 1023)::integer - 512 as rooms,
  (runs[place + 1] >> 11 & 2047)::integer - 1024 as adults,
  (runs[place + 1] & 2047)::integer - 1024 as children,
  nullif(runs[place + 2], -9223372036854775808) * 0.0001 as room_revenue,
  nullif(runs[place + 3], -9223372036854775808) * 0.0001 as gross_room_revenue
from generate_series(1, cardinality(runs), 4) as place
