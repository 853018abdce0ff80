-- The newest $2 tries of endpoint $1 (or of its message $3), the newest first.
select attempt_id as "attemptId", message_id as "messageId", event, url, attempt, attempted_at as "attemptedAt",
  duration_ms as "durationMs", status, failure, answer
from bellhop.webhook_attempt
where endpoint_id = $1 and ($3::uuid is null or message_id = $3)
order by attempt_id desc
limit $2
