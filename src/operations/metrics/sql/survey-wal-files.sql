-- Bytes of the files of the write-ahead log. For members of pg_monitor.
select coalesce(sum(size), 0)::float8 as bytes from pg_ls_waldir()
