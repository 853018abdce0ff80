-- The next $3 requests of any client before the id $1, newest first, from the id $2 on, as read-request-ids.
-- Plan: Limit over Unique over an Append of backward index scans of accept_log_request, newest partition first.
select distinct on (request_id) request_id, client_id
from bellhop.accept_log
where request_id < $1 and request_id >= $2 and kind = 'b'
order by request_id desc
limit $3
