-- As read-newest-arrivals, of one property ($2), on the worker that has its bucket ($1).
select resource, max(last_request_id::text) as "requestId"
from (
  (select resource, last_request_id from bellhop.feed_arrival
    where bucket = $1::smallint and property_id = $2::integer and resource = 'i' order by last_request_id desc limit 1)
  union all
  (select resource, last_request_id from bellhop.feed_arrival
    where bucket = $1::smallint and property_id = $2::integer and resource = 'r' order by last_request_id desc limit 1)
  union all
  (select resource, last_request_id from bellhop.feed_arrival
    where bucket = $1::smallint and property_id = $2::integer and resource = 'g' order by last_request_id desc limit 1)
) as newest
group by resource
