-- The entries of the property $2 that have a night from $3 to $4 and were received after $10, where they are of up to 31 nights: bitmap
-- scans of night_entry_short, together with night_entry_received where $10 is late, and of night_entry_long.
select * from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights <= 31 and received_at > $10
  and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
union all
select * from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights > 31
  and first_night <= $4::date and first_night + nights > $3::date
