-- In milliseconds since 1970: what was received before that may be past its retention.
select (extract(epoch from max(known_from)) * 1000)::float8 as until
from bellhop.retention_horizon
where kind in ('payloads', 'outcomes')
