-- Bytes of the write-ahead log's files and what the settings let them be, and of the log that the server writes itself (null if it writes
-- none into files).
select
  (select coalesce(sum(size), 0)::float8 from pg_ls_waldir()) as "walBytes",
  pg_size_bytes(current_setting('max_wal_size'))::float8 as "walMost",
  pg_size_bytes(current_setting('wal_keep_size'))::float8 as "walKept",
  case when current_setting('logging_collector') = 'on'
    then (select coalesce(sum(size), 0)::float8 from pg_ls_logdir())
  end as "logBytes"
