-- The properties of the client codes $1, and those of the pairs of codes $2 and $3, as far as a batch has ever named them.
-- By the table's unique key.
select property_id, bucket, client_code, property_code
from bellhop.property
where client_code = any ($1::text[])
union all
select property.property_id, property.bucket, property.client_code, property.property_code
from unnest($2::text[], $3::text[]) as named (client_code, property_code)
join bellhop.property as property
  on property.client_code = named.client_code and property.property_code = named.property_code
