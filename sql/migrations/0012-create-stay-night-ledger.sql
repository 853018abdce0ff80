-- The stay-night ledger (docs/decisions/0020): the change that each version of a reservation or of a group block master makes
-- to nights, with both clocks. Rows are only added. What was on the books at an instant is a sum over them; a sum over the
-- entries of a source instant T and a receipt instant R is what counts at T as it was known at R.
-- A database that has applied records before this migration has its entries by `bellhop replay --swap`.
set local search_path = bellhop_state;

-- A run of nights that follow each other and are alike: from first_night on so many nights, each with these numbers.
-- Numbers are signed and for all rooms of the reservation (adults of a room times its rooms); money that is not told is null.
create table night_entry (
  source_time timestamptz not null,
  received_at timestamptz not null,
  dimension bigint not null,
  property_id integer not null,
  first_night date not null,
  nights integer not null,
  rooms integer not null,
  adults integer not null,
  children integer not null,
  bucket smallint not null,
  room_revenue numeric,
  gross_room_revenue numeric,
  -- The reservation's id, and what it shares its room by: null where it does not.
  key text collate "C" not null,
  share_id text collate "C"
);

-- The same of group block masters. `key` is the group's code; what is not told is null.
create table block_entry (
  source_time timestamptz not null,
  received_at timestamptz not null,
  dimension bigint not null,
  property_id integer not null,
  first_night date not null,
  nights integer not null,
  blocks integer,
  picked_up integer,
  original_blocks integer,
  bucket smallint not null,
  key text collate "C" not null
);

-- A range of dates reads the short runs that begin up to 30 nights before it, and all long ones that begin before its end.
create index night_entry_short on night_entry (property_id, first_night) where nights <= 31;
create index night_entry_long on night_entry (property_id, first_night) where nights > 31;
create index block_entry_short on block_entry (property_id, first_night) where nights <= 31;
create index block_entry_long on block_entry (property_id, first_night) where nights > 31;

-- What entries are grouped by, written by whoever needs it first. The number is made of what it stands for (the first eight
-- bytes of the SHA-256 of these eight as a JSON array), so it is the same after every replay. Null: not told.
create table night_dimension (
  bucket smallint not null,
  property_id integer not null,
  dimension bigint not null,
  status text collate "C",
  room_type_code text collate "C",
  booked_room_type_code text collate "C",
  market_segment_code text collate "C",
  group_block_code text collate "C",
  rate_code text collate "C",
  channel text collate "C",
  currency_code text collate "C",
  primary key (bucket, property_id, dimension)
);

-- Versions in which a released record had a part: each copy that matters, and the receipt (of the release, where it was
-- released) from which it counts. All other versions count from their own receipt.
create table released_copy (
  bucket smallint not null,
  property_id integer not null,
  resource "char" not null,
  key text collate "C" not null,
  source_time timestamptz not null,
  content_hash bytea not null,
  request_id uuid not null,
  record_index integer not null,
  counts_from uuid not null,
  primary key (bucket, property_id, resource, key, source_time, content_hash, request_id, record_index)
);
