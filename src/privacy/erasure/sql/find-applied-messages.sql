-- Messages about applied requests whose correlation id or ReplyTo differs from the log's.
with reported as materialized (
  select message_id, cause::uuid as request_id, body::json -> 'data' as data
  from bellhop.webhook_message where event = 'request.applied'
),
log as materialized (
  select request_id, min(correlation_id) as correlation_id, min(reply_to) as reply_to
  from bellhop.accept_log
  where request_id = any (array(select request_id from reported))
  group by request_id
)
select reported.message_id, log.correlation_id, log.reply_to
from reported
left join log using (request_id)
where reported.data ->> 'correlationId' is distinct from log.correlation_id or reported.data ->> 'replyTo' is distinct from log.reply_to
order by reported.message_id
