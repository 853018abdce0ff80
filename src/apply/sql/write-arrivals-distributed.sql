-- Which feeds the records of a transaction were of, all of the bucket $2 (as write-outcomes-distributed).
insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
  duplicate, quarantined, rejected, warned, bucket, resource)
select sent.first_request_id, sent.last_request_id, sent.property_id, sent.batches, sent.applied, sent.unchanged,
  sent.stale, sent.duplicate, sent.quarantined, sent.rejected, sent.warned, home.bucket, sent.resource
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as sent (first_request_id uuid, last_request_id uuid, property_id integer,
  batches integer, applied integer, unchanged integer, stale integer, duplicate integer, quarantined integer,
  rejected integer, warned integer, resource "char")
where home.bucket = $2
