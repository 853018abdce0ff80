-- The shares that one reservation was a member of at $5 and at $6 on a night from $3 to $4, where they differ, of reservations on the books
-- (statuses $7) that changed in between as members of a share. A share of day use begins with d, others with n. Reads no more if no
-- reservation was a member of two.
with changed as materialized (
  select key from bellhop_state.night_entry
  where bucket = $1 and property_id = $2 and share_id is not null and {time} <= $6
    and first_night <= $4::date and first_night + nights > $3::date
  group by key
  having min(share_id) <> max(share_id) and max({time}) > $5
),
sharer_night as (
  select share_id, sharer, night, is_day_use, is_after
  from (
    select entry.share_id, entry.sharer, entry.first_night + passed as night, coalesce(kind.cause <> 'posted', false) as is_day_use, is_after, entry.rooms
    from ({parts/shared-entries}) as entry
    join bellhop_state.night_dimension as kind
      on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension and kind.status = any ($7::text[])
    cross join lateral generate_series(0, entry.end_night - entry.first_night - 1) as passed
    cross join (values (false), (true)) as instant (is_after)
    where entry.sharer in (select key from changed) and (select count(*) from changed) > 0 and entry.{time} <= case when is_after then $6::timestamptz else $5::timestamptz end
  ) as change
  group by share_id, sharer, night, is_day_use, is_after
  having sum(rooms) <> 0
)
select distinct former.night::text as night, case when is_day_use then 'd' else 'n' end || former.share_id as one,
  case when is_day_use then 'd' else 'n' end || later.share_id as other
from sharer_night as former
join sharer_night as later using (sharer, night, is_day_use)
where not former.is_after and later.is_after and former.share_id <> later.share_id
