-- As register-lane; the newest id, which lies on the workers, has been asked for before, in the same transaction.
insert into bellhop.lane (backend_pid, backend_start, is_backfill)
select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
returning lane_id::text as lane_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
