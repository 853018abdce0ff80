select request_id, details from bellhop.request_outcome
where bucket = $1 and request_id = any ($2::uuid[]) and details is not null
