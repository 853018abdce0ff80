-- The facts of the inventory versions that hold the contents of the nights $3 ($4, $5): by the primary key, one a night.
select wanted.night, version.facts
from unnest($3::text[], $4::timestamptz[], $5::text[]) as wanted (night, facts_source_time, content_hash)
join bellhop_state.inventory_version as version
  on version.bucket = $1 and version.property_id = $2 and version.key = wanted.night
  and version.source_time = wanted.facts_source_time and version.content_hash = decode(wanted.content_hash, 'hex')
order by wanted.night collate "C"
