-- One record that is or was held, by request and index, whichever bucket it lies in.
select held.bucket, held.request_id as "requestId", held.record_index as "index", property.client_code as "clientCode",
  property.property_code as "propertyCode", held.resource, held.key, held.code, held.message, held.state,
  held.resolved_at as "resolvedAt"
from bellhop.quarantine as held left join bellhop.property using (property_id)
where held.request_id = $1 and held.record_index = $2
