-- As survey-sizes, of the coordinator and its workers together.
select
  (
    select sum(result::float8)
    from run_command_on_all_nodes('select pg_database_size(current_database())')
  ) as database_bytes,
  count(partition.inhrelid)::integer as log_partitions,
  coalesce(sum(citus_total_relation_size(partition.inhrelid)), 0)::float8 as log_bytes
from pg_inherits as partition
where partition.inhparent = 'bellhop.accept_log'::regclass
