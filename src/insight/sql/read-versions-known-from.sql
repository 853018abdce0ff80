-- From when on versions of the client code $1 are known, of whatever resource; null where none has gone. A range of the primary key.
select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
from bellhop.retention_horizon
where client_code = $1 and kind = 'versions'
