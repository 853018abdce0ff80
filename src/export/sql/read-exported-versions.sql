-- The versions of bucket $1 received from request $2 on or released since, in log order.
select
  property.client_code, property.property_code, left(version.resource, 1), version.key, version.source_time::text,
  encode(substr(version.content_hash, 1, 8), 'hex'), version.status, version.from_date, version.to_date,
  version.outcome, version.request_id, version.record_index
from (
  {parts/new-versions of inventory}
  union all {parts/new-versions of reservation}
  union all {parts/new-versions of group}
) as version
join bellhop.property as property using (property_id)
order by version.request_id, version.record_index
