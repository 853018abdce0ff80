-- Live secrets of clients that are not revoked, by the pepper of their digests.
select s.pepper as number,
  count(*)::integer as secrets,
  max(s.last_used_at) as "lastUsedAt",
  array_agg(distinct s.client_id order by s.client_id) as "clientIds"
from bellhop.client_secret s
join bellhop.client c on c.client_id = s.client_id
where c.revoked_at is null and (s.expires_at is null or s.expires_at > clock_timestamp())
group by s.pepper
