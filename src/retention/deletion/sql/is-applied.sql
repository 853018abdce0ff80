select exists (
  select from bellhop_state.apply_cursor as cursor
  where cursor.bucket = $1 and cursor.lane_id = $2 and cursor.request_id >= $3
) as applied
