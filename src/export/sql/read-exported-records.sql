-- The current records of bucket $1; for a delta only those with a change numbered above $2 and up to $3. Each has the source time of the
-- version that introduced its content; later versions that repeat it are not changes.
select
  property.client_code, property.property_code, current.resource, current.key, current.facts_source_time::text,
  encode(substr(current.content_hash, 1, 8), 'hex'), current.status, current.from_date, current.to_date
from {current} as current
join bellhop.property as property using (property_id)
