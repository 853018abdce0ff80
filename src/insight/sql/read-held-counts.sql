-- Records of the property $2 in the bucket $1 that are held in quarantine now, by resource: at most $3 are counted.
-- An index scan of quarantine_held.
select resource, count(*)::integer as records
from (
  select resource from bellhop.quarantine
  where bucket = $1 and property_id = $2 and state = 'h'
  limit $3
) as held
group by resource
