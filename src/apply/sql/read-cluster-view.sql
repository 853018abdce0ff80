-- One applier's view of the cluster:
-- appliers: appliers present, including this one, with session activity within $1 seconds (as count-present of coordination.ts).
--   An applier in a long statement keeps its buckets but gets no share meanwhile.
-- buckets: the number of buckets; on a Citus worker, of those placed there.
-- free: buckets without a holder (never held, given up, or the holder's backend is gone) and their last epoch.
--   A backend whose start is hidden (another role's) counts as the holder: waiting for it is safe, taking over is not.
-- held: the buckets that this session holds.
-- waiting: sessions that hold a bucket, or a log writer with an open transaction, and wait for their client:
--   idle for more than $1 seconds, or waiting within a statement now.
-- The relations in braces are defined in src/apply/postgres-apply-session.ts.
with lease as materialized ({leases}),
backend as materialized (
  select pid, backend_start, state, state_change, wait_event_type, backend_xid from pg_stat_activity
),
waiting as (
  select
    backend.pid, backend.state_change::text as spoke, holder.owner, backend.state <> 'active' as idle,
    extract(epoch from clock_timestamp() - backend.state_change)::float8 as silent_seconds
  from backend
  join (
    select distinct backend_pid, backend_start, owner, false as is_log_writer from lease
    union all
    {log-writers}
  ) as holder on holder.backend_pid = backend.pid and holder.backend_start = backend.backend_start
  where backend.pid <> pg_backend_pid()
    and case
      when holder.is_log_writer then backend.backend_xid is not null
        and (backend.state like 'idle in transaction%' or (backend.state = 'active' and backend.wait_event_type = 'Client'))
      else backend.state like 'idle%' or (backend.state = 'active' and backend.wait_event_type = 'Client')
    end
    and (backend.state = 'active' or backend.state_change < clock_timestamp() - make_interval(secs => $1))
)
select
  (
    select coalesce(json_agg(present.presence_id::text order by present.presence_id), '[]')
    from ({present}) as present
    join backend on backend.pid = present.backend_pid
      and coalesce(backend.backend_start, present.backend_start) = present.backend_start
    where backend.pid = pg_backend_pid()
      or coalesce(backend.state_change, clock_timestamp()) > clock_timestamp() - make_interval(secs => $1)
  ) as appliers,
  (select count(*)::integer from lease) as buckets,
  (
    select coalesce(json_agg(json_build_object('bucket', lease.bucket, 'epoch', lease.epoch::text)), '[]')
    from lease
    where not exists (
      select from backend
      where backend.pid = lease.backend_pid
        and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
    )
  ) as free,
  (
    select coalesce(json_agg(json_build_object('bucket', lease.bucket, 'epoch', lease.epoch::text)), '[]')
    from lease
    join backend on backend.pid = lease.backend_pid and backend.backend_start = lease.backend_start
    where backend.pid = pg_backend_pid()
  ) as held,
  (select coalesce(json_agg(waiting), '[]') from waiting) as waiting
