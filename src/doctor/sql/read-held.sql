-- Records that are held aside, by reason, and the oldest of each; $1 records at most are counted.
select code, count(*)::integer as held, min(request_id::text) as oldest
from (
  select code, request_id from bellhop.quarantine where state = 'h' order by request_id limit $1
) as held
group by code
order by held desc, code
