-- Every status that current records have or a client code has mapped, with the number of current records; at most $2 (null: all).
with carried as (
  select property.client_code, current.resource, current.status, count(*) as records
  from bellhop_state.current_record as current join bellhop.property as property using (property_id)
  where current.status is not null and ($1::text is null or property.client_code = $1)
  group by property.client_code, current.resource, current.status
)
select client_code as "clientCode",
  case resource when 'r' then 'reservations' else 'groups' end as resource,
  status, coalesce(carried.records, 0) as records, mapping.deducts
from carried
full join (
  select client_code, resource, status, deducts from bellhop.status_mapping where $1::text is null or client_code = $1
) as mapping using (client_code, resource, status)
order by client_code, resource, status
limit $2
