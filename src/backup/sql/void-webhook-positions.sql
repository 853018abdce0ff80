-- Endpoints that are told of changes stand nowhere any more: what was lost may have been told, and what comes may bear the numbers of it.
update bellhop.webhook_endpoint set positions = null where 'changes.available' = any (events)
