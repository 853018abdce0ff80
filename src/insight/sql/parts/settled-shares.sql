-- The rooms of shares: of the sharers of one share at one moment the one with the smallest key has the room, as many as the most that
-- any of them names. It stands in that sharer's own cells, and what is beyond its own in the first of these by `place`.
-- From sharer_night: share_id, sharer, cell, place, rooms (not 0), and the moment.
select cell, share_id, moment, rooms + case when is_first then most - named else 0 end as rooms
from (
  select sharer.*, max(named) over (partition by share_id, moment) as most
  from (
    select
      sharer_night.*,
      min(sharer) over (partition by share_id, moment) as holder,
      sum(rooms) over (partition by share_id, moment, sharer) as named,
      place = min(place) over (partition by share_id, moment, sharer) as is_first
    from sharer_night
  ) as sharer
) as room
where sharer = holder
