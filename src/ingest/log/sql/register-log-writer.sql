-- A log writer is born with its connection. The newest id of the log is its floor: it never stamps at or below it.
-- $1: whether it is for batches of backfills, which appliers read after the others.
with born as (
  insert into bellhop.log_writer (backend_pid, backend_start, is_backfill)
  select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
  returning log_writer_id
)
select
  log_writer_id::text,
  (select request_id from bellhop.accept_log order by request_id desc limit 1) as floor,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
from born
