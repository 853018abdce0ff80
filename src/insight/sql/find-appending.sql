-- Lanes with a transaction under way, and what no other transaction has. One of which nothing may be known (another role's
-- session has the number of its backend) counts as one that does not end. A lane that is not seen here was born later.
select lane.lane_id::text as lane_id, coalesce(writer.xact_start::text, 'unknown') as transaction
from bellhop.lane as lane
join pg_stat_activity as writer
  on writer.pid = lane.backend_pid and coalesce(writer.backend_start, lane.backend_start) = lane.backend_start
where lane.sealed_at is null and (writer.xact_start is not null or writer.backend_start is null)
