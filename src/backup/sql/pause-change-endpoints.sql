-- Pauses those that are told of changes, by $1 because of $2, until somebody who has read the records anew resumes them.
update bellhop.webhook_endpoint set paused_at = clock_timestamp(), paused_by = $1, pause_reason = $2
where 'changes.available' = any (events) and paused_at is null
