-- Endpoints that are told of changes stand nowhere any more: what was lost may have been told, and what comes may bear the numbers of it.
-- They are paused until somebody who has read the records anew resumes them.
update bellhop.webhook_endpoint
set positions = null,
  paused_by = case when paused_at is null then 'restore' else paused_by end,
  pause_reason = case when paused_at is null
    then 'The database was restored from a backup: read the records anew, then resume this endpoint.' else pause_reason end,
  paused_at = coalesce(paused_at, clock_timestamp())
where 'changes.available' = any (events)
