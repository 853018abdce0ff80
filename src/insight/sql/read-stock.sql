-- Facts of the inventory versions of the nights $3 ($4, $5), from the first up to the one with which they reach 1 MB of text. The lateral
-- forces one primary key lookup per night; without statistics, a join searches all versions of the property.
select night, facts
from (
  select wanted.night, version.facts, sum(octet_length(version.facts)) over (order by wanted.night collate "C") as bytes_so_far
  from unnest($3::text[], $4::timestamptz[], $5::text[]) as wanted (night, facts_source_time, content_hash)
  cross join lateral (
    select facts from bellhop_state.inventory_version as version
    where version.bucket = $1 and version.property_id = $2 and version.key = wanted.night
      and version.source_time = wanted.facts_source_time and version.content_hash = decode(wanted.content_hash, 'hex')
      -- Longer text has more than 1,000 room types, which insight omits (packages/contract/src/warnings.ts).
      and octet_length(version.facts) <= 1000000
    limit 1
  ) as version
) as found
where bytes_so_far - octet_length(facts) < 1000000
order by night collate "C"
