-- The facts of the inventory versions that hold the contents of the nights $3 ($4, $5). One look into the primary key a night: joined as a set
-- they would be sought among all versions of the property where the server has no statistics.
select wanted.night, version.facts
from unnest($3::text[], $4::timestamptz[], $5::text[]) as wanted (night, facts_source_time, content_hash)
cross join lateral (
  select facts from bellhop_state.inventory_version as version
  where version.bucket = $1 and version.property_id = $2 and version.key = wanted.night
    and version.source_time = wanted.facts_source_time and version.content_hash = decode(wanted.content_hash, 'hex')
    -- More than 1,000 room types take: insight leaves those out (packages/contract/src/warnings.ts), and their text need not come.
    and octet_length(version.facts) <= 1000000
  limit 1
) as version
order by wanted.night collate "C"
