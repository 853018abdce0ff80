-- One flush of a log writer: log entries and the idempotency keys they claim, in one transaction and one round trip.
-- $1 describes the entries; $2 concatenates their rejections, layouts and bodies (an array of bytea would be sent as hexadecimal text).
-- Keys are claimed in order, so two flushes cannot deadlock. Entries whose key another request holds are not written or returned.
-- Ids at or below the closed timestamp (src/insight/watermark.ts) would change earlier answers: the statement then fails with a
-- division by zero, and the log writer stamps new ids. The expressions in braces are defined in log-writer-session.ts.
with entry as materialized (
  select *
  from json_to_recordset($1::json) as e (
    bucket smallint, {entry-fields},
    key text, key_bucket smallint, fingerprint text
  )
  where {may-write} and 1 / (case when e.request_id > coalesce(({promised}), '00000000-0000-0000-0000-000000000000')
    then 1 else 0 end) = 1
), claimed as (
  insert into bellhop.idempotency_key as held (client_id, key, bucket, request_id, fingerprint, created_at)
  select distinct on (client_id, key, key_bucket)
    client_id, key, key_bucket, request_id, decode(fingerprint, 'hex'), received_at
  from entry
  where key is not null
  order by client_id, key, key_bucket, request_id
  on conflict (client_id, key, bucket) do update
    set request_id = excluded.request_id, fingerprint = excluded.fingerprint, created_at = excluded.created_at
    where excluded.created_at - held.created_at > interval '24 hours'
  returning held.request_id
)
{insert-entries of bucket}
from entry
where key is null or request_id in (select request_id from claimed)
returning request_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
