update bellhop.request_outcome set details = $3 where bucket = $1 and request_id = $2
