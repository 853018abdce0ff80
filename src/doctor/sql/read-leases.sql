-- The buckets as they were leased.
select coalesce(json_agg(json_build_object(
  'bucket', bucket, 'owner', owner, 'pid', backend_pid, 'start', extract(epoch from backend_start)::text
) order by bucket), '[]') as leases
from bellhop.bucket_lease
