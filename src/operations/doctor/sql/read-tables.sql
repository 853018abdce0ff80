-- At most 5 tables with at least $1 dead rows that make up a fifth of the table, the database's oldest transaction age, and the age at
-- which PostgreSQL forces a vacuum.
select
  (
    select coalesce(json_agg(dead), '[]') from (
      select
        schemaname || '.' || relname as table, n_dead_tup::float8 as dead, n_live_tup::float8 as live,
        coalesce(greatest(last_vacuum, last_autovacuum)::text, 'never') as cleaned
      from pg_stat_user_tables
      where (schemaname like 'bellhop%' or schemaname = 'analytics') and n_dead_tup > $1 and n_dead_tup > 0.2 * (n_live_tup + n_dead_tup)
      order by n_dead_tup desc
      limit 5
    ) as dead
  ) as dead,
  (select age(datfrozenxid)::float8 from pg_database where datname = current_database()) as age,
  current_setting('autovacuum_freeze_max_age')::float8 as "freezeAge"
