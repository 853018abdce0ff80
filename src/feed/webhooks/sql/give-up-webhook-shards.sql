-- Gives up those of the shards $1 that this session holds.
update bellhop.webhook_shard
set owner = null, backend_pid = null, backend_start = null, leased_until = null
where shard = any ($1::smallint[]) and backend_pid = pg_backend_pid()
