-- Typed facts as one text a version: the text form of a row of one composite type a resource, cast where it is read
-- (docs/decisions/0006). Written so, a version costs a quarter of what it does with a column a fact, and is half as large.
-- An array in which every element is null, or that has none, is null.
-- The types lie in the schema that a replay does not replace.

create type bellhop.inventory_facts as (
  occupancy_date date,
  room_type_code text[],
  is_virtual boolean[],
  room_type_capacity integer[],
  rooms_not_available_maintenance integer[],
  rooms_not_available_other integer[],
  rooms_sold integer[],
  transient_sold integer[],
  group_sold integer[]
);
create type bellhop.reservation_facts as (
  confirmation_number text,
  booking_time timestamptz,
  cancellation_time timestamptz,
  number_of_rooms integer,
  multi_reservation_id text,
  share_id text,
  channel text,
  nationality text,
  -- one entry a room stay
  arrival_date date[],
  departure_date date[],
  room_type_code text[],
  booked_room_type_code text[],
  market_segment_code text[],
  group_block_code text[],
  source_booking_code text[],
  rate_code text[],
  currency_code text[],
  number_of_adults integer[],
  number_of_children integer[],
  -- one entry a rate: stay_index says whose
  rate_stay_index integer[],
  rate_start_date date[],
  rate_end_date date[],
  rate_value numeric[],
  gross_rate_value numeric[],
  -- one entry a daily revenue
  revenue_date date[],
  net_room_revenue numeric[],
  net_food_revenue numeric[],
  net_beverage_revenue numeric[],
  net_other_revenue numeric[],
  net_ticket_price numeric[],
  ticket_price numeric[],
  net_total_revenue numeric[],
  gross_total_revenue numeric[]
);
create type bellhop.group_facts as (
  name text,
  master_group_code text,
  booking_date date,
  start_date date,
  end_date date,
  cutoff_days integer,
  cutoff_date date,
  group_type_code text,
  pickup_type_code text,
  market_segment_code text,
  rate_code text,
  -- one entry a group block
  occupancy_date date[],
  room_type_code text[],
  blocks integer[],
  pickup integer[],
  original_blocks integer[],
  single_person_rate numeric[],
  two_person_rate numeric[],
  currency_code text[]
);

set local search_path = bellhop_state;
-- What is stored must be read the same by every session.
set local datestyle = 'ISO';
set local timezone = 'UTC';

-- The columns of one width stand together. An unchanged version has no facts: those at facts_source_time are its own.
-- The former indexes of change_no are not made again: nothing reads them.

alter table inventory_version rename to former_inventory_version;
alter table former_inventory_version rename constraint inventory_version_pkey to former_inventory_version_pkey;
create table inventory_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text
);
insert into inventory_version (source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date,
  bucket, outcome, request_id, content_hash, key, status, facts)
select source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date, bucket,
  outcome, request_id, content_hash, key, status,
  case when facts_source_time = source_time then row(
      occupancy_date,
      case when cardinality(array_remove(room_type_code, null)) > 0 then room_type_code end,
      case when cardinality(array_remove(is_virtual, null)) > 0 then is_virtual end,
      case when cardinality(array_remove(room_type_capacity, null)) > 0 then room_type_capacity end,
      case when cardinality(array_remove(rooms_not_available_maintenance, null)) > 0 then rooms_not_available_maintenance end,
      case when cardinality(array_remove(rooms_not_available_other, null)) > 0 then rooms_not_available_other end,
      case when cardinality(array_remove(rooms_sold, null)) > 0 then rooms_sold end,
      case when cardinality(array_remove(transient_sold, null)) > 0 then transient_sold end,
      case when cardinality(array_remove(group_sold, null)) > 0 then group_sold end
    )::bellhop.inventory_facts::text
  end
from former_inventory_version;
alter table inventory_version add primary key (bucket, property_id, key, source_time, content_hash);
create or replace view analytics.stored_inventory_version as
  select bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome, facts_source_time,
    change_no, status, from_date, to_date,
    (typed.facts).occupancy_date, (typed.facts).room_type_code, (typed.facts).is_virtual,
    (typed.facts).room_type_capacity, (typed.facts).rooms_not_available_maintenance,
    (typed.facts).rooms_not_available_other, (typed.facts).rooms_sold, (typed.facts).transient_sold,
    (typed.facts).group_sold
  from bellhop_state.inventory_version
  cross join lateral (select inventory_version.facts::bellhop.inventory_facts as facts offset 0) as typed;
drop table former_inventory_version;

alter table reservation_version rename to former_reservation_version;
alter table former_reservation_version rename constraint reservation_version_pkey to former_reservation_version_pkey;
create table reservation_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text
);
insert into reservation_version (source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date,
  bucket, outcome, request_id, content_hash, key, status, facts)
select source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date, bucket,
  outcome, request_id, content_hash, key, status,
  case when facts_source_time = source_time then row(
      confirmation_number,
      booking_time,
      cancellation_time,
      number_of_rooms,
      multi_reservation_id,
      share_id,
      channel,
      nationality,
      case when cardinality(array_remove(arrival_date, null)) > 0 then arrival_date end,
      case when cardinality(array_remove(departure_date, null)) > 0 then departure_date end,
      case when cardinality(array_remove(room_type_code, null)) > 0 then room_type_code end,
      case when cardinality(array_remove(booked_room_type_code, null)) > 0 then booked_room_type_code end,
      case when cardinality(array_remove(market_segment_code, null)) > 0 then market_segment_code end,
      case when cardinality(array_remove(group_block_code, null)) > 0 then group_block_code end,
      case when cardinality(array_remove(source_booking_code, null)) > 0 then source_booking_code end,
      case when cardinality(array_remove(rate_code, null)) > 0 then rate_code end,
      case when cardinality(array_remove(currency_code, null)) > 0 then currency_code end,
      case when cardinality(array_remove(number_of_adults, null)) > 0 then number_of_adults end,
      case when cardinality(array_remove(number_of_children, null)) > 0 then number_of_children end,
      case when cardinality(array_remove(rate_stay_index, null)) > 0 then rate_stay_index end,
      case when cardinality(array_remove(rate_start_date, null)) > 0 then rate_start_date end,
      case when cardinality(array_remove(rate_end_date, null)) > 0 then rate_end_date end,
      case when cardinality(array_remove(rate_value, null)) > 0 then rate_value end,
      case when cardinality(array_remove(gross_rate_value, null)) > 0 then gross_rate_value end,
      case when cardinality(array_remove(revenue_date, null)) > 0 then revenue_date end,
      case when cardinality(array_remove(net_room_revenue, null)) > 0 then net_room_revenue end,
      case when cardinality(array_remove(net_food_revenue, null)) > 0 then net_food_revenue end,
      case when cardinality(array_remove(net_beverage_revenue, null)) > 0 then net_beverage_revenue end,
      case when cardinality(array_remove(net_other_revenue, null)) > 0 then net_other_revenue end,
      case when cardinality(array_remove(net_ticket_price, null)) > 0 then net_ticket_price end,
      case when cardinality(array_remove(ticket_price, null)) > 0 then ticket_price end,
      case when cardinality(array_remove(net_total_revenue, null)) > 0 then net_total_revenue end,
      case when cardinality(array_remove(gross_total_revenue, null)) > 0 then gross_total_revenue end
    )::bellhop.reservation_facts::text
  end
from former_reservation_version;
alter table reservation_version add primary key (bucket, property_id, key, source_time, content_hash);
create or replace view analytics.stored_reservation_version as
  select bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome, facts_source_time,
    change_no, status, from_date, to_date,
    (typed.facts).confirmation_number, (typed.facts).booking_time, (typed.facts).cancellation_time,
    (typed.facts).number_of_rooms, (typed.facts).multi_reservation_id, (typed.facts).share_id, (typed.facts).channel,
    (typed.facts).nationality, (typed.facts).arrival_date, (typed.facts).departure_date, (typed.facts).room_type_code,
    (typed.facts).booked_room_type_code, (typed.facts).market_segment_code, (typed.facts).group_block_code,
    (typed.facts).source_booking_code, (typed.facts).rate_code, (typed.facts).currency_code,
    (typed.facts).number_of_adults, (typed.facts).number_of_children, (typed.facts).rate_stay_index,
    (typed.facts).rate_start_date, (typed.facts).rate_end_date, (typed.facts).rate_value,
    (typed.facts).gross_rate_value, (typed.facts).revenue_date, (typed.facts).net_room_revenue,
    (typed.facts).net_food_revenue, (typed.facts).net_beverage_revenue, (typed.facts).net_other_revenue,
    (typed.facts).net_ticket_price, (typed.facts).ticket_price, (typed.facts).net_total_revenue,
    (typed.facts).gross_total_revenue
  from bellhop_state.reservation_version
  cross join lateral (select reservation_version.facts::bellhop.reservation_facts as facts offset 0) as typed;
drop table former_reservation_version;

alter table group_version rename to former_group_version;
alter table former_group_version rename constraint group_version_pkey to former_group_version_pkey;
create table group_version (
  source_time timestamptz not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  property_id integer not null,
  record_index integer not null,
  from_date date not null,
  to_date date not null,
  bucket smallint not null,
  outcome "char" not null,
  request_id uuid not null,
  content_hash bytea not null,
  key text collate "C" not null,
  status text,
  facts text
);
insert into group_version (source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date,
  bucket, outcome, request_id, content_hash, key, status, facts)
select source_time, facts_source_time, change_no, property_id, record_index, from_date, to_date, bucket,
  outcome, request_id, content_hash, key, status,
  case when facts_source_time = source_time then row(
      name,
      master_group_code,
      booking_date,
      start_date,
      end_date,
      cutoff_days,
      cutoff_date,
      group_type_code,
      pickup_type_code,
      market_segment_code,
      rate_code,
      case when cardinality(array_remove(occupancy_date, null)) > 0 then occupancy_date end,
      case when cardinality(array_remove(room_type_code, null)) > 0 then room_type_code end,
      case when cardinality(array_remove(blocks, null)) > 0 then blocks end,
      case when cardinality(array_remove(pickup, null)) > 0 then pickup end,
      case when cardinality(array_remove(original_blocks, null)) > 0 then original_blocks end,
      case when cardinality(array_remove(single_person_rate, null)) > 0 then single_person_rate end,
      case when cardinality(array_remove(two_person_rate, null)) > 0 then two_person_rate end,
      case when cardinality(array_remove(currency_code, null)) > 0 then currency_code end
    )::bellhop.group_facts::text
  end
from former_group_version;
alter table group_version add primary key (bucket, property_id, key, source_time, content_hash);
create or replace view analytics.stored_group_version as
  select bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome, facts_source_time,
    change_no, status, from_date, to_date,
    (typed.facts).name, (typed.facts).master_group_code, (typed.facts).booking_date, (typed.facts).start_date,
    (typed.facts).end_date, (typed.facts).cutoff_days, (typed.facts).cutoff_date, (typed.facts).group_type_code,
    (typed.facts).pickup_type_code, (typed.facts).market_segment_code, (typed.facts).rate_code,
    (typed.facts).occupancy_date, (typed.facts).room_type_code, (typed.facts).blocks, (typed.facts).pickup,
    (typed.facts).original_blocks, (typed.facts).single_person_rate, (typed.facts).two_person_rate,
    (typed.facts).currency_code
  from bellhop_state.group_version
  cross join lateral (select group_version.facts::bellhop.group_facts as facts offset 0) as typed;
drop table former_group_version;

-- Lists of inventory by date are lists by key, so only reservations and groups are found by this index.
-- Where a replay has put other tables in the place of the state, its name is another; it is the only partial one.
do $drop$
begin
  execute (
    select format('drop index bellhop_state.%I', named.relname)
    from pg_index as index join pg_class as named on named.oid = index.indexrelid
    where index.indrelid = 'bellhop_state.current_record'::regclass
      and index.indpred is not null
  );
end
$drop$;
create index current_record_dates on current_record (bucket, property_id, resource, from_date)
  where from_date is not null and resource <> 'i';
