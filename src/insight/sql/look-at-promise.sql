-- What is promised and settled, and the database's clock in milliseconds.
select promised::text as promised, settled::text as settled,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
from bellhop.receipt_promise
