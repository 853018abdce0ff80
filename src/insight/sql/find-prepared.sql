-- What the worker that has the bucket $1 holds prepared: committed on the coordinator perhaps, and not to be seen yet. No other
-- worker is asked (as run_command_on_workers would): one that hangs would hold up the answers of all.
select answer.success, answer.result
from pg_dist_shard_placement as home
cross join lateral master_run_on_worker(
  array[home.nodename], array[home.nodeport::integer],
  array['select coalesce(json_agg(gid), ''[]'') from pg_prepared_xacts where database = current_database()'], true
) as answer
where home.shardid = get_shard_id_for_distribution_column('bellhop.bucket_promise', $1::smallint)
