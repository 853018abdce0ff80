-- The rooms of shares. At each moment the sharer with the smallest key has as many rooms as the most that any sharer names; rooms beyond
-- its own count in its first cell by `place`.
select cell, share_id, {moment}, rooms + case when is_first then most - named else 0 end as rooms
from (
  select sharer.*, max(named) over (partition by share_id, {moment}) as most
  from (
    select
      sharer_night.*,
      min(sharer) over (partition by share_id, {moment}) as holder,
      sum(rooms) over (partition by share_id, {moment}, sharer) as named,
      place = min(place) over (partition by share_id, {moment}, sharer) as is_first
    from sharer_night
  ) as sharer
) as room
where sharer = holder
