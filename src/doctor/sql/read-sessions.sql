-- The sessions of this server as far as they can be seen, and the buckets as they were leased. Two lists, not joined here: on
-- Citus the leases lie on the workers, whose sessions are others.
select
  (
    select coalesce(json_agg(json_build_object('pid', pid, 'start', extract(epoch from backend_start)::text)), '[]')
    from pg_stat_activity where backend_type = 'client backend'
  ) as sessions,
  (
    select coalesce(json_agg(json_build_object(
      'bucket', bucket, 'owner', owner, 'pid', backend_pid, 'start', extract(epoch from backend_start)::text
    ) order by bucket), '[]')
    from bellhop.bucket_lease
  ) as leases
