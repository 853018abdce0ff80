(select * from bellhop_state.current_record where bucket = $1::smallint)
