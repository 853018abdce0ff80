-- Renews this session's leases for $1 seconds and answers them.
update bellhop.webhook_shard as shard
set leased_until = clock_timestamp() + make_interval(secs => $1)
from pg_stat_activity as me
where me.pid = pg_backend_pid() and shard.backend_pid = me.pid and shard.backend_start = me.backend_start
returning shard.shard
