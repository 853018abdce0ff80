import type pg from "pg";

/** Approximate entries per booking of the invented hotel. */
const ENTRIES_A_BOOKING = 6.5;
/** Approximate rows per statement. */
const ROWS_PER_STATEMENT = 500_000;

/**
 * Invented bookings of a hotel over two years. A third are cancelled, four in ten change their price during the stay,
 * three in ten are changed once, and 2 % share a room; the rest are checked in and out, some in another room type. Rate
 * codes and channels correlate with segments, giving 4,600 dimensions (real data: 2,000 for 17,000 bookings).
 */
const BOOKINGS = `
  create temp table ledger_booking as
  select booking.booking, drawn.*,
    case when booking.booking % 100 < 2 then 'S' || booking.booking / 2 end as share_id
  from (
    select
      draw,
      date '2025-01-01' + floor(730 * random())::integer as arrival,
      (array[1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 7, 7, 14])[1 + floor(14 * random())::integer] as nights,
      floor(280 * power(random(), 2))::integer as lead_days,
      floor(12 * power(random(), 4))::integer as room_type,
      floor(8 * power(random(), 2))::integer as segment,
      floor(3 * power(random(), 4))::integer as rate_code,
      case when random() < 0.05 then floor(5 * random())::integer end as channel,
      random() < 0.37 as is_cancelled,
      random() < 0.3 as is_changed,
      random() < 0.4 as has_two_rates,
      random() < 0.15 as is_upgraded,
      random() as end_share,
      round((60 + 140 * random())::numeric, 2) as rate,
      1 + floor(2 * random())::integer as adults,
      make_interval(secs => floor(86400 * random())) as hour
    from generate_series(0, $BOOKINGS - 1) as draw
  ) as drawn
  join generate_series(0, $BOOKINGS - 1) as booking (booking)
    on draw = booking.booking - case when booking.booking % 100 = 1 then 1 else 0 end`;

/** The runs of nights that each version removes from and adds to the books, as apply writes them (docs/decisions/0012). */
const ENTRIES = `
  create temp table ledger_template as
  with change as (
    select b.*, version, at, status, price_more, upgraded, sign
    from ledger_booking as b
    cross join lateral (
      values
        (1, arrival - lead_days, 1, 'CONFIRMED', 0, false, true),
        (2, arrival - lead_days / 2, -1, 'CONFIRMED', 0, false, is_changed),
        (2, arrival - lead_days / 2, 1, 'CONFIRMED', 15, false, is_changed),
        (3, arrival - floor(lead_days * end_share / 2)::integer, -1, 'CONFIRMED', is_changed::integer * 15, false, is_cancelled),
        (3, arrival - floor(lead_days * end_share / 2)::integer, 1, 'CANCELLED', is_changed::integer * 15, false, is_cancelled),
        (4, arrival, -1, 'CONFIRMED', is_changed::integer * 15, false, not is_cancelled),
        (4, arrival, 1, 'CHECKED_IN', is_changed::integer * 15, is_upgraded, not is_cancelled),
        (5, arrival + nights, -1, 'CHECKED_IN', is_changed::integer * 15, is_upgraded, not is_cancelled),
        (5, arrival + nights, 1, 'CHECKED_OUT', is_changed::integer * 15, is_upgraded, not is_cancelled)
    ) as step (version, at, sign, status, price_more, upgraded, happens)
    where happens
  ), reported as (
    select
      at + hour as source_time, version, sign, 'R' || booking as key, share_id, adults,
      arrival + case when part = 2 then nights / 2 else 0 end as first_night,
      case when not is_split then nights when part = 1 then nights / 2 else nights - nights / 2 end as nights,
      rate + price_more + case when part = 2 then 25 else 0 end as rate,
      status,
      'RT' || room_type + upgraded::integer as room_type_code,
      'RT' || room_type as booked_room_type_code,
      'SEG' || segment as market_segment_code,
      case when segment = 3 then 'G' || to_char(arrival, 'IYYYIW') end as group_block_code,
      'RATE' || (segment * 3 + rate_code) as rate_code,
      'CH' || coalesce(channel, segment % 5) as channel
    from change
    cross join lateral (select has_two_rates and change.nights > 1 as is_split) as split
    cross join generate_series(1, 1 + is_split::integer) as part
  )
  select row_number() over (order by source_time, key, version) as place, reported.*,
    hashtextextended(concat_ws(',', status, room_type_code, booked_room_type_code, market_segment_code, group_block_code,
      rate_code, channel), 0) as dimension
  from reported`;

const COPIED_ENTRIES = `
  insert into bellhop_state.night_entry (bucket, property_id, first_night, nights, rooms, adults, children, room_revenue,
    gross_room_revenue, source_time, received_at, dimension, key, share_id)
  select bucket, property_id, first_night, nights, sign, sign * adults, 0, sign * rate, sign * round(rate * 1.06, 2),
    source_time at time zone 'UTC', source_time at time zone 'UTC' + interval '40 seconds', dimension, key, share_id
  from (select * from ledger_template where share_id is not null and place >= $1 and place < $2 order by place) as template
  cross join unnest($3::integer[], $4::smallint[]) as hotel (property_id, bucket)`;

/** All runs of a version in one row, in the layout of src/apply/ledger/write-ledger.ts. */
const EXCHANGES = `
  create temp table ledger_exchange as
  select
    max(place) as place, source_time, key, min(first_night) as first_night,
    max(first_night + nights) - min(first_night) as nights,
    string_agg(concat_ws(',', dimension,
      (((first_night - date '1970-01-01') * 64 + nights) * 1024::bigint + sign + 512) * 4194304 + (sign * adults + 1024) * 2048 + 1024,
      (sign * rate * 10000)::bigint, (sign * round(rate * 1.06, 2) * 10000)::bigint), ',' order by sign, first_night) as runs
  from ledger_template
  where share_id is null
  group by source_time, key, version`;

const COPIED_EXCHANGES = `
  insert into bellhop_state.ledger_delta (source_time, received_at, property_id, first_night, nights, bucket, runs, key)
  select source_time at time zone 'UTC', source_time at time zone 'UTC' + interval '40 seconds', property_id, first_night, nights,
    bucket, ('{' || runs || '}')::bigint[], key
  from (select * from ledger_exchange where place >= $1 and place < $2 order by place) as template
  cross join unnest($3::integer[], $4::smallint[]) as hotel (property_id, bucket)`;

const DIMENSIONS = `
  insert into bellhop_state.night_dimension (bucket, property_id, dimension, status, room_type_code, booked_room_type_code,
    market_segment_code, group_block_code, rate_code, channel, currency_code)
  select bucket, property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code,
    rate_code, channel, 'EUR'
  from (
    select distinct dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
      channel
    from ledger_template
  ) as reported
  cross join unnest($1::integer[], $2::smallint[]) as hotel (property_id, bucket)
  on conflict do nothing`;

const KNOWN_BOOKS = `
  insert into bellhop_state.known_books (bucket, property_id, departure, source_time, received_at)
  select bucket, property_id, departure, source_time, source_time + interval '40 seconds'
  from (
    select min(first_night + nights) as departure, min(source_time at time zone 'UTC') as source_time from ledger_template
  ) as template
  cross join unnest($1::integer[], $2::smallint[]) as hotel (property_id, bucket)`;

export interface FilledHotel {
  readonly property_id: number;
  readonly bucket: number;
}

/** Creates approximately this many entries of one hotel, reproducibly. Returns their number, counting each run. */
export async function makeTemplate(client: pg.ClientBase, entries: number): Promise<number> {
  const bookings = String(Math.max(1, Math.round(entries / ENTRIES_A_BOOKING)));
  await client.query("select setseed(0.5)");
  await client.query(BOOKINGS.replaceAll("$BOOKINGS", bookings));
  await client.query(ENTRIES);
  await client.query(EXCHANGES);
  for (const made of ["ledger_template", "ledger_exchange"]) {
    await client.query(`create index on ${made} (place)`);
    await client.query(`analyze ${made}`);
  }
  const { rows } = await client.query<{ count: number }>("select count(*)::integer from ledger_template");
  return rows[0]?.count ?? 0;
}

/**
 * Copies the template's entries to each hotel, ordered by time over all hotels, so that a hotel's rows are as spread
 * out as after two years of operation. Rebuilds indexes and statistics.
 */
export async function fillLedger(
  client: pg.ClientBase,
  template: number,
  hotels: readonly FilledHotel[],
): Promise<void> {
  if (hotels.length === 0) return;
  const ofHotels = [hotels.map(({ property_id }) => property_id), hotels.map(({ bucket }) => bucket)];
  await client.query(DIMENSIONS, ofHotels);
  await client.query(KNOWN_BOOKS, ofHotels);
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select schemaname || '.' || indexname as name, indexdef as definition from pg_indexes
     where schemaname = 'bellhop_state' and tablename in ('night_entry', 'ledger_delta')`,
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  const step = Math.max(1, Math.floor(ROWS_PER_STATEMENT / hotels.length));
  for (let place = 1; place <= template; place += step)
    for (const copied of [COPIED_ENTRIES, COPIED_EXCHANGES])
      await client.query(copied, [place, place + step, ...ofHotels]);
  await client.query("set maintenance_work_mem = '512MB'");
  for (const { definition } of indexes) await client.query(definition);
  for (const table of ["night_entry", "ledger_delta", "night_dimension"])
    await client.query(`vacuum (analyze) bellhop_state.${table}`);
}
