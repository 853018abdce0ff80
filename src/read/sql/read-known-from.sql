-- A lookup by the primary key; null where nothing has gone. Payloads go by receipt, versions by source time, and what is known of
-- both is known of all.
select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
from bellhop.retention_horizon
where client_code = $1 and resource = $2 and kind in ('versions', 'payloads')
