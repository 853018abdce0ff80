-- The next $5 properties after ($3, $4) by codes; of one client code ($1), with either code beginning like $2 (in lower case).
-- Plan: an index scan of the unique key; what does not match is passed over, 100,000 properties in some 50 ms.
select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode",
  created_at as "createdAt"
from bellhop.property
where (client_code, property_code) > ($3::text, $4::text)
  and ($1::text is null or client_code = $1)
  and ($2::text is null or starts_with(lower(client_code), $2) or starts_with(lower(property_code), $2))
order by client_code, property_code
limit $5
