-- Leases up to $3 free shards (never held, released, expired, or the holder's backend gone) to $1 for $2 seconds. A backend whose start
-- time is hidden (another role's) counts as the holder until the lease expires.
with free as (
  select shard.shard
  from bellhop.webhook_shard as shard
  where coalesce(shard.leased_until < clock_timestamp(), true) or not exists (
    select from pg_stat_activity as backend
    where backend.pid = shard.backend_pid
      and coalesce(backend.backend_start, shard.backend_start) = shard.backend_start
  )
  order by shard.shard
  limit $3
  for update skip locked
)
update bellhop.webhook_shard as shard
set owner = $1, backend_pid = me.pid, backend_start = me.backend_start,
  leased_until = clock_timestamp() + make_interval(secs => $2)
from free, pg_stat_activity as me
where shard.shard = free.shard and me.pid = pg_backend_pid()
returning shard.shard
