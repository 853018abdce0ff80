-- What is counted of the ledger, by the rules of docs/figures.md, as of an instant: the property or properties, what their statuses mean, and
-- their entries with a night of the range, in the states that are asked.
property as materialized (
  select stored.property_id, stored.bucket, client_code, property_code, settings.time_zone, settings.currency_code,
    make_interval(mins => analytics.minutes_after_midnight(settings.business_day_end)) as day_end
  from analytics.property as settings
  join analytics.stored_property as stored using (client_code, property_code)
  where (of_client_code is null or client_code = of_client_code)
    and (of_property_code is null or property_code = of_property_code)
),
meaning as materialized (
  select client_code, property_code, status, meaning, on_the_books
  from analytics.status_meaning as used
  where used.resource = 'reservations' and used.on_the_books is not null
    and (of_client_code is null or used.client_code = of_client_code)
    and (of_property_code is null or used.property_code = of_property_code)
),
kind as materialized (
  select dimension.property_id, dimension.dimension, dimension.status, dimension.room_type_code, dimension.booked_room_type_code,
    dimension.market_segment_code, dimension.group_block_code, dimension.rate_code, dimension.channel,
    coalesce(dimension.currency_code, property.currency_code) as currency_code, dimension.currency_code as own_currency_code,
    case
      when meaning.on_the_books then 'books'
      when meaning.meaning = 'NO_SHOW' then 'no-show'
      when meaning.meaning is distinct from 'WAITLISTED' then 'cancelled'
    end as state
  from property
  join analytics.stored_night_dimension as dimension
    on dimension.bucket = property.bucket and dimension.property_id = property.property_id {and-home of dimension}
  join meaning
    on meaning.client_code = property.client_code and meaning.property_code = property.property_code
    and meaning.status = dimension.status
  where coalesce(dimension.cause = 'posted', true)
),
run as materialized (
{entries-of-nights}
),
entry as materialized (
  select kind.*, run.key, run.share_id, run.rooms, run.adults, run.children, run.room_revenue, run.gross_room_revenue, run.source_time,
    greatest(run.first_night, {first}) as first_night, least(run.first_night + run.nights, {last} + 1) as end_night
  from run
  join kind on kind.property_id = run.property_id and kind.dimension = run.dimension
  where kind.state = any ({states}) and case clock when 'source' then run.source_time else run.received_at end <= instant
)
