-- The lanes in which something may be left to apply.
select lane_id::text as lane_id from bellhop.lane where retired_at is null
