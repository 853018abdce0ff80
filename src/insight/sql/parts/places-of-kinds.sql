-- The order of the kinds of stays in `shared_entry`, by room type first.
select
  dimension,
  row_number() over (
    order by room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code, channel,
      currency_code, dimension
  ) as place
from bellhop_state.night_dimension
where bucket = $1 and property_id = $2 and dimension = any (array(select dimension from shared_entry))
