update bellhop.accept_log set rejections = $4 where bucket = $1 and lane_id = $2 and request_id = $3
