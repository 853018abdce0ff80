-- In milliseconds since 1970, what retention has taken out: of the log by receipt, of versions by source time.
select
  (extract(epoch from max(known_from) filter (where kind in ('payloads', 'outcomes'))) * 1000)::float8 as log_ms,
  (extract(epoch from max(known_from) filter (where kind = 'versions')) * 1000)::float8 as versions_ms
from bellhop.retention_horizon
