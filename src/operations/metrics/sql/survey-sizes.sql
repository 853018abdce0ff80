-- Bytes of the database and of its log, the log's indexes and partitions included.
select pg_database_size(current_database())::float8 as database_bytes,
  count(partition.inhrelid)::integer as log_partitions,
  coalesce(sum(pg_total_relation_size(partition.inhrelid)), 0)::float8 as log_bytes
from pg_inherits as partition
where partition.inhparent = 'bellhop.accept_log'::regclass
