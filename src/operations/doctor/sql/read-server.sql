-- Properties of the server and database, and the settings of a service session.
select
  current_setting('server_version') as version,
  current_setting('server_version_num')::integer as "versionNumber",
  (
    select json_object_agg(name, setting) from pg_settings
    where name in (
      'fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', 'data_checksums', 'autovacuum',
      'track_activities', 'track_counts', 'idle_session_timeout', 'transaction_timeout'
    )
  ) as settings,
  pg_is_in_recovery() as "isStandby",
  pg_encoding_to_char(own.encoding) as encoding,
  own.datcollversion as "collationMadeBy",
  pg_database_collation_actual_version(own.oid) as "collationNow",
  pg_database_size(own.oid)::float8 as bytes,
  inet_client_addr() is null or inet_client_addr() = inet_server_addr() as "isLocal",
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "isEncrypted"
from pg_database as own
where own.datname = current_database()
