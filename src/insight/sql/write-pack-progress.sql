-- Notes that the property $2 is packed up to $3; nothing where it is already.
insert into bellhop_state.night_pack_progress as packed (bucket, property_id, received_up_to)
values ($1, $2, $3)
on conflict (bucket, property_id) do update set received_up_to = excluded.received_up_to
where packed.received_up_to < excluded.received_up_to
