update bellhop.change_counter set next_change = $2::bigint where bucket = $1 and next_change = $3::bigint
