-- One is current: the first to come decides.
insert into bellhop.payload_key (key_id, sealed) values ($1, $2) on conflict do nothing
