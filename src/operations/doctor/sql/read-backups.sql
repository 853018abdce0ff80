-- How many seconds ago: the last backup that was taken of this database since it was restored, if it was (null: none); when it was
-- made or filled; and when its server last archived a file of the write-ahead log (null: it does not).
select
  extract(epoch from clock_timestamp() - (
    select occurred_at from bellhop.audit_entry
    where what = 'backup' and audit_id > coalesce((select max(audit_id) from bellhop.audit_entry where what = 'restore'), 0)
    order by audit_id desc limit 1
  ))::float8 as "takenSeconds",
  extract(epoch from clock_timestamp() - (select min(applied_at) from bellhop_migration.applied))::float8 as "madeSeconds",
  case when current_setting('archive_mode') <> 'off'
    then (select extract(epoch from clock_timestamp() - last_archived_time)::float8 from pg_stat_archiver)
  end as "archivedSeconds"
