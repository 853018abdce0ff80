-- How many connections there may be and are, and how many of them an ordinary role can have.
select
  current_setting('max_connections')::integer
    - coalesce(current_setting('superuser_reserved_connections', true)::integer, 0)
    - coalesce(current_setting('reserved_connections', true)::integer, 0) as most,
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as used,
  (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) as "roleMost",
  (select count(*)::integer from pg_stat_activity where usename = current_user) as "roleUsed",
  (select nullif(datconnlimit, -1) from pg_database where datname = current_database()) as "databaseMost",
  (select count(*)::integer from pg_stat_activity where datname = current_database()) as "databaseUsed"
