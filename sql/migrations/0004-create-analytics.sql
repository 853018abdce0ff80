-- What analysts ask by SQL: current state as typed rows, and the same rows as they stood at an instant. docs/analytics.md.
create schema analytics;

-- How many records of a part have warnings, counted once when the part is applied: the lists of requests show it, and
-- parsing the details of a thousand parts for every page would cost seconds.
create function bellhop.count_warned(details json) returns integer
  language sql immutable strict parallel safe
  return (select count(*)::integer from json_each(details) as record where record.value -> 'warnings' is not null);
alter table bellhop.request_outcome
  add column warned_count integer generated always as (bellhop.count_warned(details)) stored;

create type analytics.clock as enum ('source', 'receipt');

-- Request ids are UUIDv7 of ours (src/accept/request-id.ts): 48 bits of milliseconds, then 12 bits of 1/4096 ms.
create function analytics.received_at_of(request_id uuid) returns timestamptz
  language sql immutable strict parallel safe
  return timestamptz 'epoch' + interval '1 microsecond' * (
    ('x' || substr(request_id::text, 1, 8) || substr(request_id::text, 10, 4))::bit(48)::bigint * 1000
    + ('x' || substr(request_id::text, 16, 3))::bit(12)::integer * 1000 / 4096
  );

-- The lowest id of a request that was received after an instant, to the microsecond.
create function analytics.first_request_id_after(instant timestamptz) returns uuid
  language sql immutable strict parallel safe
  return (
    select (
      lpad(to_hex(microseconds / 1000), 12, '0') || '7'
      || lpad(to_hex((microseconds % 1000 * 4096 + 999) / 1000), 3, '0') || '8000000000000000'
    )::uuid
    from (
      select floor(least(greatest(extract(epoch from instant), 0), 281474976709) * 1000000)::bigint + 1 as microseconds
    ) as after
  );

-- The bricks of everything below. Views bind to tables and not to names, so these five, and only these, are bound anew
-- when a replay has put other tables in the place of the state (src/state/rebind-views.ts).
create view analytics.stored_property as
  select property_id, bucket, client_code, property_code from bellhop.property;
create view analytics.stored_current as select * from bellhop_state.current_record;
create view analytics.stored_inventory_version as select * from bellhop_state.inventory_version;
create view analytics.stored_reservation_version as select * from bellhop_state.reservation_version;
create view analytics.stored_group_version as select * from bellhop_state.group_version;

-- Each relation is written once, as a select over `property`, `record` (the version that counts, the current one or the
-- one of an instant) and `facts` (the version of the same content that holds the typed facts), and made twice: as a view
-- of current state and as a function `…_as_of`, so that the two cannot differ. The functions are inlined by the planner;
-- both start at the property, so a filter on the two codes reads that property's rows only.
do $create$
declare
  relation record;
  versions text;
  current_record text;
  record_as_of text;
  facts text;
begin
  for relation in
    select * from (values
    ('room_type_inventory', 'i', 'inventory', 'Rooms of each room type, property and occupancy date.', $select$
      select property.client_code, property.property_code, facts.occupancy_date,
        room.room_type_code, room.is_virtual, room.room_type_capacity,
        room.rooms_not_available_maintenance, room.rooms_not_available_other, room.rooms_sold,
        room.transient_sold, room.group_sold,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
      cross join lateral unnest(facts.room_type_code, facts.is_virtual, facts.room_type_capacity,
        facts.rooms_not_available_maintenance, facts.rooms_not_available_other, facts.rooms_sold,
        facts.transient_sold, facts.group_sold
      ) as room (room_type_code, is_virtual, room_type_capacity, rooms_not_available_maintenance,
        rooms_not_available_other, rooms_sold, transient_sold, group_sold)
    $select$),
    ('reservation', 'r', 'reservation', 'Reservations, one row each.', $select$
      select property.client_code, property.property_code, record.key as reservation_id, record.status,
        record.from_date as arrival_date, record.to_date as departure_date,
        facts.confirmation_number, facts.booking_time, facts.cancellation_time, facts.number_of_rooms,
        facts.multi_reservation_id, facts.share_id, facts.channel, facts.nationality,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
    $select$),
    ('room_stay', 'r', 'reservation', 'Room stays of reservations, one row each.', $select$
      select property.client_code, property.property_code, record.key as reservation_id,
        stay.stay_number::integer as stay_number, record.status, facts.number_of_rooms,
        stay.arrival_date, stay.departure_date, stay.departure_date - stay.arrival_date as nights,
        stay.room_type_code, stay.booked_room_type_code, stay.market_segment_code, stay.group_block_code,
        stay.source_booking_code, stay.rate_code, stay.currency_code, stay.number_of_adults, stay.number_of_children,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
      cross join lateral unnest(facts.arrival_date, facts.departure_date, facts.room_type_code,
        facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code, facts.source_booking_code,
        facts.rate_code, facts.currency_code, facts.number_of_adults, facts.number_of_children
      ) with ordinality as stay (arrival_date, departure_date, room_type_code, booked_room_type_code,
        market_segment_code, group_block_code, source_booking_code, rate_code, currency_code, number_of_adults,
        number_of_children, stay_number)
    $select$),
    ('stay_night', 'r', 'reservation',
      'Nights of room stays, one row each; the revenue of a date stands on the first stay that covers it.', $select$
      select property.client_code, property.property_code, record.key as reservation_id, night.stay_number,
        night.occupancy_date, record.status, facts.number_of_rooms,
        record.from_date as reservation_arrival_date, record.to_date as reservation_departure_date,
        night.arrival_date, night.departure_date,
        night.room_type_code, night.booked_room_type_code, night.market_segment_code, night.group_block_code,
        night.source_booking_code, night.rate_code, night.currency_code, night.number_of_adults,
        night.number_of_children, night.rate_value, night.gross_rate_value, night.net_room_revenue,
        night.net_food_revenue, night.net_beverage_revenue, night.net_other_revenue, night.net_ticket_price,
        night.ticket_price, night.net_total_revenue, night.gross_total_revenue,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
      cross join lateral (
        -- All of one reservation's nights at once, so that dates meet their revenue in a hash join.
        select stay_date.*, rate.rate_value, rate.gross_rate_value, day.net_room_revenue, day.net_food_revenue,
          day.net_beverage_revenue, day.net_other_revenue, day.net_ticket_price, day.ticket_price,
          day.net_total_revenue, day.gross_total_revenue
        from (
          select stay.*, stay.arrival_date + nights.passed as occupancy_date,
            row_number() over (partition by stay.arrival_date + nights.passed order by stay.stay_number) = 1
              as carries_revenue
          from (
            select unnested.arrival_date, unnested.departure_date, unnested.room_type_code,
              unnested.booked_room_type_code, unnested.market_segment_code, unnested.group_block_code,
              unnested.source_booking_code, unnested.rate_code, unnested.currency_code,
              unnested.number_of_adults, unnested.number_of_children, unnested.stay_number::integer as stay_number
            from unnest(facts.arrival_date, facts.departure_date, facts.room_type_code,
              facts.booked_room_type_code, facts.market_segment_code, facts.group_block_code,
              facts.source_booking_code, facts.rate_code, facts.currency_code, facts.number_of_adults,
              facts.number_of_children
            ) with ordinality as unnested (arrival_date, departure_date, room_type_code, booked_room_type_code,
              market_segment_code, group_block_code, source_booking_code, rate_code, currency_code, number_of_adults,
              number_of_children, stay_number)
          ) as stay
          cross join lateral generate_series(0, stay.departure_date - stay.arrival_date - 1) as nights (passed)
        ) as stay_date
        left join (
          select sent.revenue_date, sum(sent.net_room_revenue) as net_room_revenue,
            sum(sent.net_food_revenue) as net_food_revenue, sum(sent.net_beverage_revenue) as net_beverage_revenue,
            sum(sent.net_other_revenue) as net_other_revenue, sum(sent.net_ticket_price) as net_ticket_price,
            sum(sent.ticket_price) as ticket_price, sum(sent.net_total_revenue) as net_total_revenue,
            sum(sent.gross_total_revenue) as gross_total_revenue
          from unnest(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue, facts.net_beverage_revenue,
            facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price, facts.net_total_revenue,
            facts.gross_total_revenue
          ) as sent (revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue,
            net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue)
          group by sent.revenue_date
        ) as day on day.revenue_date = stay_date.occupancy_date and stay_date.carries_revenue
        left join lateral (
          select sent.rate_value, sent.gross_rate_value
          from unnest(facts.rate_stay_index, facts.rate_start_date, facts.rate_end_date, facts.rate_value,
            facts.gross_rate_value
          ) with ordinality as sent (stay_index, start_date, end_date, rate_value, gross_rate_value, place)
          where sent.stay_index = stay_date.stay_number - 1
            and stay_date.occupancy_date between coalesce(sent.start_date, '-infinity') and coalesce(sent.end_date, 'infinity')
          order by sent.place desc
          limit 1
        ) as rate on true
      ) as night
    $select$),
    ('daily_revenue', 'r', 'reservation',
      'Revenue of reservations by date, one row each, also of dates that are no night of a stay.', $select$
      select property.client_code, property.property_code, record.key as reservation_id,
        sent.revenue_date as occupancy_date, record.status, sent.net_room_revenue, sent.net_food_revenue,
        sent.net_beverage_revenue, sent.net_other_revenue, sent.net_ticket_price, sent.ticket_price,
        sent.net_total_revenue, sent.gross_total_revenue,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
      cross join lateral unnest(facts.revenue_date, facts.net_room_revenue, facts.net_food_revenue,
        facts.net_beverage_revenue, facts.net_other_revenue, facts.net_ticket_price, facts.ticket_price,
        facts.net_total_revenue, facts.gross_total_revenue
      ) as sent (revenue_date, net_room_revenue, net_food_revenue, net_beverage_revenue, net_other_revenue,
        net_ticket_price, ticket_price, net_total_revenue, gross_total_revenue)
    $select$),
    ('group_block_master', 'g', 'group', 'Group block masters, one row each.', $select$
      select property.client_code, property.property_code, record.key as group_code, record.status,
        facts.name, facts.master_group_code, facts.booking_date, facts.start_date, facts.end_date, facts.cutoff_days,
        facts.cutoff_date, facts.group_type_code, facts.pickup_type_code, facts.market_segment_code, facts.rate_code,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
    $select$),
    ('group_block_night', 'g', 'group', 'Group blocks: rooms of a room type held for a group on a night.', $select$
      select property.client_code, property.property_code, record.key as group_code, block.occupancy_date,
        block.room_type_code, record.status, block.blocks, block.pickup, block.original_blocks,
        block.single_person_rate, block.two_person_rate, block.currency_code,
        record.source_time, analytics.received_at_of(record.request_id) as received_at
      from {record} {facts}
      cross join lateral unnest(facts.occupancy_date, facts.room_type_code, facts.blocks, facts.pickup,
        facts.original_blocks, facts.single_person_rate, facts.two_person_rate, facts.currency_code
      ) as block (occupancy_date, room_type_code, blocks, pickup, original_blocks, single_person_rate,
        two_person_rate, currency_code)
    $select$)
    ) as relations (name, resource, stored, meaning, definition)
  loop
    versions := format('analytics.stored_%s_version', relation.stored);
    current_record := format($text$analytics.stored_property as property
      join analytics.stored_current as record
        on record.bucket = property.bucket and record.property_id = property.property_id
        and record.resource = %L$text$, relation.resource);
    record_as_of := format($text$analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = %L
      cross join lateral (
        select version.*
        from %s as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record$text$, relation.resource, versions);
    facts := format($text$
      join %s as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash$text$, versions);
    execute format('create view analytics.%I as %s', relation.name,
      replace(replace(relation.definition, '{record}', current_record), '{facts}', facts));
    execute format('comment on view analytics.%I is %L', relation.name, relation.meaning || ' Current state.');
    -- The body is text, so its names are looked up when it is planned; it names only views of this schema.
    execute format(
      'create function analytics.%I(instant timestamptz, clock analytics.clock default ''source'')
        returns setof analytics.%I language sql stable parallel safe as %L',
      relation.name || '_as_of', relation.name,
      replace(replace(relation.definition, '{record}', record_as_of), '{facts}', facts));
  end loop;
end
$create$;
