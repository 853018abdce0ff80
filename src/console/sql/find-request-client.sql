-- Whose request this is. An index scan of accept_log_request, pruned to one partition by the id.
select client_id as "clientId" from bellhop.accept_log where request_id = $1 and kind = 'b' limit 1
