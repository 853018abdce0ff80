-- What the worker that has the bucket $1 holds prepared: committed on the coordinator perhaps, and not to be seen yet.
select answer.success, answer.result
from run_command_on_workers(
  'select coalesce(json_agg(gid), ''[]'') from pg_prepared_xacts where database = current_database()'
) as answer
join pg_dist_shard_placement as home using (nodename, nodeport)
where home.shardid = get_shard_id_for_distribution_column('bellhop.bucket_promise', $1::smallint)
