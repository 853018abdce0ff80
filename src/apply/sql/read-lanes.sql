select lane_id::text as lane_id, is_backfill from bellhop.lane where retired_at is null
