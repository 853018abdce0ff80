select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
from bellhop.property
where client_code = $1 and ($2::text is null or property_code = $2)
order by property_code
