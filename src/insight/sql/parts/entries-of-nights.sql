-- The entries of the property $2 that have a night from $3 to $4: bitmap scans of night_entry_short (runs of up to 31 nights that
-- begin from $3 - 30 to $4) and of night_entry_long.
select * from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights <= 31
  and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
union all
select * from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights > 31
  and first_night <= $4::date and first_night + nights > $3::date
