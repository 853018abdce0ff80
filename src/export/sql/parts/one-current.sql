(select * from bellhop_state.current_record where bucket = $1::smallint and property_id = $2::integer and key = $3::text)
