-- Positions, from 1, of the keys $3 of property $2 in bucket $1 with a version received after the request at the same position in $4, up to
-- $5, and not quarantined as of then.
select distinct failed.place::integer as place
from unnest($3::text[], $4::uuid[]) with ordinality as failed (key, request_id, place)
join {versions} as version
  on version.bucket = $1::smallint and version.property_id = $2 and version.key = failed.key
    and version.request_id > failed.request_id and version.request_id <= $5::uuid
where {parts/not-quarantined of $5}
