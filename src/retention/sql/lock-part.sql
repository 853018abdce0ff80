-- One part of the log, held until the transaction ends, so that nobody else rewrites it meanwhile.
select layout, body
from bellhop.accept_log
where bucket = $1 and lane_id = $2 and request_id = $3 and layout is not null and body is not null
for update
