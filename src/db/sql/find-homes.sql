-- Which buckets lie on which worker, as the coordinator knows it: no worker is asked.
with shard as materialized (
  select bucket, get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint) as shardid
  from generate_series(0, 63) as bucket
)
select home.nodename || ':' || home.nodeport as worker, array_agg(shard.bucket) as buckets
from shard
join pg_dist_shard_placement as home on home.shardid = shard.shardid
group by worker
order by worker
