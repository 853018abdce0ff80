-- Packs the entries of property $2 received after $3 and up to $4, by quarter of their first night: 52 bytes each, big-endian (read by
-- packed-books.ts). Times are microseconds and dates are days since 2000-01-01; amounts are ten-thousandths.
insert into bellhop_state.ledger_segment (bucket, property_id, quarter, received_up_to, entries, packed)
select
  bucket, $2, date_trunc('quarter', first_night::timestamp)::date, $4, count(*),
  string_agg(
    timestamptz_send(source_time) || timestamptz_send(received_at) || int8send(dimension) || date_send(first_night)
      || int2send((
        nights + case when share_id is not null then 256 else 0 end + case when room_revenue is null then 512 else 0 end
          + case when gross_room_revenue is null then 1024 else 0 end
      )::smallint)
      || int2send(rooms::smallint) || int2send(adults::smallint) || int2send(children::smallint)
      || int8send((coalesce(room_revenue, 0) * 10000)::bigint) || int8send((coalesce(gross_room_revenue, 0) * 10000)::bigint),
    ''::bytea
  )
from (
  select
    source_time, received_at, dimension, first_night, nights, rooms, adults, children, bucket, room_revenue, gross_room_revenue, share_id
  from bellhop_state.night_entry
  where property_id = $2 and nights <= 31 and received_at > $3 and received_at <= $4 and bucket = $1
  union all
  select
    source_time, received_at, dimension, first_night, nights, rooms, adults, children, bucket, room_revenue, gross_room_revenue, share_id
  from (
    with delta as (
      select * from bellhop_state.ledger_delta
      where property_id = $2 and nights <= 31 and received_at > $3 and received_at <= $4 and bucket = $1
    )
    {../../platform/db/analytics/sql/runs-of-delta}
  ) as run
) as entry
group by bucket, 3
