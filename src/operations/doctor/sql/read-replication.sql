-- Replicas and their lag, replication slots and the log they retain, and the state of the archiver.
select
  current_setting('synchronous_standby_names') as "synchronousNames",
  (
    select coalesce(json_agg(json_build_object(
      'name', coalesce(nullif(application_name, ''), 'unnamed'), 'state', state,
      'isSynchronous', sync_state in ('sync', 'quorum'),
      'lagSeconds', extract(epoch from replay_lag),
      'lagBytes', pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)
    )), '[]') from pg_stat_replication
  ) as replicas,
  (
    select coalesce(json_agg(json_build_object(
      'name', slot_name, 'active', active, 'status', wal_status,
      'keptBytes', pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)
    )), '[]') from pg_replication_slots
  ) as slots,
  (
    select coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) from pg_stat_archiver
  ) as "archivingFails"
