-- Lanes that are not retired: whose writer lives, and those that are sealed and not applied to their end. One row each.
select lane_id::text as lane_id, sealed_at is not null as is_sealed from bellhop.lane where retired_at is null
