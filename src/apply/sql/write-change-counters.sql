update bellhop.bucket_lease as lease
set next_change = counter.next_change
from json_to_recordset($1::json) as counter (bucket smallint, next_change bigint)
where lease.bucket = counter.bucket
