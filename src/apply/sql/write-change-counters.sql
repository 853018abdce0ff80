-- Moves counters from where they are (migration 0011).
update bellhop.change_counter as counter
set next_change = moved.next_change
from json_to_recordset($1::json) as moved (bucket smallint, former bigint, next_change bigint)
where counter.bucket = moved.bucket and counter.next_change = moved.former
