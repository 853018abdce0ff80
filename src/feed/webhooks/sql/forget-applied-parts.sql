-- Those of the parts $2 of the bucket $1 that were still to be told of.
delete from bellhop.applied_part
where bucket = $1 and request_id = any ($2::uuid[])
returning bucket, request_id, client_id
