-- Records held of the properties $2 in the buckets $1: one row each, $3 at most of all of them together. Property numbers are
-- those of one bucket each. An index-only scan of quarantine_held.
select property_id as "propertyId"
from bellhop.quarantine
where state = 'h' and bucket = any ($1::smallint[]) and property_id = any ($2::integer[])
limit $3
