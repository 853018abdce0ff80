-- The current records of the bucket $1. Of a delta: those that a change numbered above $2 and up to $3 was about. Each with the source
-- time of the version that its content came with: later versions that repeat it are no changes.
select
  property.client_code, property.property_code, current.resource, current.key, current.facts_source_time::text,
  encode(substr(current.content_hash, 1, 8), 'hex'), current.status, current.from_date, current.to_date
from {current} as current
join bellhop.property as property using (property_id)
