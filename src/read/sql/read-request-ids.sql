-- The next $4 requests of a client before the id $2, newest first, from the id $3 on. A batch has a row a bucket (64 at
-- most), so the scan reads at most 64 times as many rows.
-- Plan: Limit over Unique over an Append of backward index scans of accept_log_client, newest partition first; those
-- outside the bounds are pruned, and older ones are never executed once the limit is reached. 201 of 6,700: 0.5 ms.
select distinct request_id
from bellhop.accept_log
where client_id = $1 and request_id < $2 and request_id >= $3 and kind = 'b'
order by request_id desc
limit $4
