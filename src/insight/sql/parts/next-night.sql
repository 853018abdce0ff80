(
  select min(greatest(first_night, $3::date)) from bellhop_state.{of}
  where bucket = $1 and property_id = $2 and nights > 31 and first_night + nights > $3::date
), (
  select greatest(first_night, $3::date) from bellhop_state.{of}
  where bucket = $1 and property_id = $2 and nights <= 31 and first_night > $3::date - 31 order by first_night limit 1
)
