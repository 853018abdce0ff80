-- The number and bucket of a pair of codes. An index scan on the table's unique key.
select property_id, bucket from bellhop.property where client_code = $1 and property_code = $2
