-- Message $1 of endpoint $2 was delivered, with its $3-th try: it is gone, and its endpoint is well again. Its answer is noted
-- while all that is redacted is still as of $9.
with delivered as (
  delete from bellhop.webhook_message where message_id = $1
),
well as (
  update bellhop.webhook_endpoint
  set failures = 0, failing_since = null, not_before = null
  where endpoint_id = $2 and failures > 0
),
unerased as (
  select from bellhop.privacy_version where version = $9::bigint for share
)
insert into bellhop.webhook_attempt
  (endpoint_id, message_id, event, url, attempt, attempted_at, duration_ms, status, failure, answer)
select endpoint_id, $1, $4::text, $5::text, $3::integer, clock_timestamp() - make_interval(secs => $6::float8 / 1000), $6,
  $7::smallint, null,
  -- The row is locked for what has guests in it; other messages tell of a request, by the million.
  case when $8::text = '' or $4 <> 'changes.available' or exists (select from unerased) then $8 else '' end
from bellhop.webhook_endpoint where endpoint_id = $2
