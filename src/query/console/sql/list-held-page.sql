-- The next $5 held records after ($3, $4), oldest first; of one client code ($1) and property code ($2) where given.
-- Plan: an index scan of quarantine_held_order, or of one property quarantine_held and a sort.
select held.request_id as "requestId", held.record_index as "index", property.client_code as "clientCode",
  property.property_code as "propertyCode", held.resource, held.key, held.code, held.message, held.state,
  held.resolved_at as "resolvedAt"
from bellhop.quarantine as held left join bellhop.property using (property_id)
where held.state = 'h' and (held.request_id, held.record_index) > ($3::uuid, $4::integer)
  and ($1::text is null or property.client_code = $1)
  and ($2::text is null or property.property_code = $2)
order by held.request_id, held.record_index
limit $5
