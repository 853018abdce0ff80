-- The schema that a replay can rebuild from the log: positions, current records, versions.
create schema bellhop_state;
set local search_path = bellhop_state;

-- How far a bucket has been applied in each lane.
create table apply_cursor (
  bucket smallint not null,
  lane_id bigint not null,
  request_id uuid not null,
  primary key (bucket, lane_id)
);

-- The newest version of each record under the order (source time, request id, index). Holds no document:
-- (request_id, record_index) points into the log; (facts_source_time, content_hash) names the version with the typed facts.
create table current_record (
  bucket smallint not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  request_id uuid not null,
  record_index integer not null,
  content_hash bytea not null,
  facts_source_time timestamptz not null,
  status text,
  from_date date not null,
  to_date date not null,
  primary key (bucket, property_id, resource, key)
) with (fillfactor = 85);

-- Every version of every record, once per (source time, content). An unchanged version is narrow: its facts are those
-- of the version at facts_source_time. change_no numbers the changes of current state within the bucket.
create table inventory_version (
  bucket smallint not null,
  property_id integer not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  outcome "char" not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  status text,
  from_date date not null,
  to_date date not null,
  occupancy_date date,
  room_type_code text[],
  is_virtual boolean[],
  room_type_capacity integer[],
  rooms_not_available_maintenance integer[],
  rooms_not_available_other integer[],
  rooms_sold integer[],
  transient_sold integer[],
  group_sold integer[],
  primary key (bucket, property_id, key, source_time, content_hash)
);

create table reservation_version (
  bucket smallint not null,
  property_id integer not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  outcome "char" not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  status text,
  from_date date not null,
  to_date date not null,
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
  gross_total_revenue numeric[],
  primary key (bucket, property_id, key, source_time, content_hash)
);

create table group_version (
  bucket smallint not null,
  property_id integer not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  outcome "char" not null,
  facts_source_time timestamptz not null,
  change_no bigint,
  status text,
  from_date date not null,
  to_date date not null,
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
  currency_code text[],
  primary key (bucket, property_id, key, source_time, content_hash)
);

-- For lists by date. Partial, although from_date is never null, so that only a query that names from_date can be planned
-- with it: before the first analyze it looked as good as the primary key to the lookup of a record by its key, which
-- then read every record of the property (467 instead of about 20,000 records applied a second).
create index current_record_dates on current_record (bucket, property_id, resource, from_date)
  where from_date is not null;
create index inventory_version_change on inventory_version (bucket, change_no) where change_no is not null;
create index reservation_version_change on reservation_version (bucket, change_no) where change_no is not null;
create index group_version_change on group_version (bucket, change_no) where change_no is not null;

-- Room types that a property's inventory feed has named, for the warning about others.
create table known_room_type (
  bucket smallint not null,
  property_id integer not null,
  room_type_code text collate "C" not null,
  primary key (bucket, property_id, room_type_code)
);
