-- Gives up the buckets $1 as far as this session holds them: whoever looks next finds them free.
update bellhop.bucket_lease as lease
set epoch = lease.epoch + 1, owner = null, backend_pid = null, backend_start = null
from pg_stat_activity as me
where me.pid = pg_backend_pid()
  and lease.bucket = any ($1::smallint[])
  and lease.backend_pid = me.pid and lease.backend_start = me.backend_start
