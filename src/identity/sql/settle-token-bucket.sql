-- The bucket's state after a refusal. $1 client, $2 burst, $3 seconds to refill one token.
-- A full_at beyond that of an empty bucket (the burst was lowered or the clock set back) is reset first, to bound the wait.
-- oldestLeavesInSeconds: seconds until the oldest of the last $2 tokens is an hour old.
with settled as (
  update bellhop.token_bucket
  set full_at = clock_timestamp() + make_interval(secs => $2::integer * $3::integer)
  where client_id = $1 and full_at > clock_timestamp() + make_interval(secs => $2::integer * $3::integer)
  returning full_at
)
select
  extract(epoch from coalesce((select full_at from settled), full_at) - clock_timestamp())::float8 as "fullInSeconds",
  extract(epoch from
    (select t from unnest(issued_at) t order by t desc offset $2::integer - 1 limit 1) + interval '1 hour' - clock_timestamp()
  )::float8 as "oldestLeavesInSeconds"
from bellhop.token_bucket
where client_id = $1
