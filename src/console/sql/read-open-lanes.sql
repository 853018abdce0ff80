-- The lanes in which something may not be applied yet, and the database's clock.
select clock_timestamp() as now,
  array(select lane_id::text from bellhop.lane where retired_at is null order by lane_id) as lanes
