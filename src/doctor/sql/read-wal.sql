-- How much write-ahead log a crash now would replay, and what bounds it; both in bytes.
select
  pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as "sinceCheckpoint",
  extract(epoch from clock_timestamp() - checkpoint_time)::float8 as "checkpointSeconds",
  (select setting::float8 * 1048576 from pg_settings where name = 'max_wal_size') as most
from pg_control_checkpoint()
