-- Bytes of the write-ahead log that a recovery from now would read. Refused where a host has taken the function away.
select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()
