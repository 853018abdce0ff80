-- Endpoints that are told of changes stand nowhere any more: what was lost may have been told, and what comes may bear the numbers of it.
-- They are paused, by $1 because of $2, until somebody who has read the records anew resumes them.
with voided as (
  update bellhop.webhook_endpoint as endpoint
  set positions = null,
    paused_by = case when endpoint.paused_at is null then $1 else endpoint.paused_by end,
    pause_reason = case when endpoint.paused_at is null then $2 else endpoint.pause_reason end,
    paused_at = coalesce(endpoint.paused_at, clock_timestamp())
  where 'changes.available' = any (endpoint.events)
  returning endpoint.paused_by = $1 as is_paused
)
select count(*) filter (where is_paused)::integer as paused from voided
