-- A nightly push gives each of a property's 730 dates one more version. In the order of keys each of them falls on a page
-- of its own once there are some sixty, and each such page goes whole into the write-ahead log: 4,400 bytes a record
-- against 330 in the order of source times, where a push lies together (docs/decisions/0008). Reservations and groups
-- have few versions a key, and stay in the order of keys.
alter table bellhop_state.inventory_version
  drop constraint inventory_version_pkey,
  add primary key (bucket, property_id, source_time, key, content_hash);
