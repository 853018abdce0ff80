-- Expands rows of ledger_delta, here named `delta`, into rows as in night_entry. A run is four bigints, packed by
-- src/apply/ledger/write-ledger.ts; a row has at most 62 runs.
-- The start positions are unnested in the select list, so that conditions on times are pushed below it: a lateral join takes a
-- quarter longer. They are a literal because the planner expects 10 rows of an array, but 1,000 of generate_series.
select
  source_time, received_at, dimension, property_id,
  date '1970-01-01' + (nights_and_counts >> 38)::integer as first_night,
  (nights_and_counts >> 32 & 63)::integer as nights,
  (nights_and_counts >> 22 & 1023)::integer - 512 as rooms,
  (nights_and_counts >> 11 & 2047)::integer - 1024 as adults,
  (nights_and_counts & 2047)::integer - 1024 as children,
  bucket,
  nullif(revenue, -9223372036854775808) * 0.0001 as room_revenue,
  nullif(gross_revenue, -9223372036854775808) * 0.0001 as gross_room_revenue,
  key, null::text collate "C" as share_id
from (
  select
    source_time, received_at, property_id, bucket, key,
    runs[unnest(places[:cardinality(runs) / 4])] as dimension,
    runs[unnest(places[:cardinality(runs) / 4]) + 1] as nights_and_counts,
    runs[unnest(places[:cardinality(runs) / 4]) + 2] as revenue,
    runs[unnest(places[:cardinality(runs) / 4]) + 3] as gross_revenue
  from delta
  cross join (
    select '{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81,
      85, 89, 93, 97, 101, 105, 109, 113, 117, 121, 125, 129, 133, 137, 141, 145, 149, 153, 157, 161, 165,
      169, 173, 177, 181, 185, 189, 193, 197, 201, 205, 209, 213, 217, 221, 225, 229, 233, 237, 241, 245}'::integer[] as places
  ) as longest
) as laid_out
