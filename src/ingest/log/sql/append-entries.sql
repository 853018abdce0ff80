-- One flush of one log writer: the entries of every request in it, and the idempotency keys they claim, in one statement and
-- so in one transaction and one round trip. $1 describes the entries, $2 holds their rejections, layouts and bodies end to end
-- (one binary parameter: an array of bytea would travel as hexadecimal text, twice the bytes).
-- Keys are claimed in order, so two flushes cannot deadlock; an entry whose key another request holds is not written
-- and its id not returned. Ids at or below what was promised (src/insight/watermark.ts) would change answers that were given:
-- then all of it fails with a division by zero, which nothing else here does, and the log writer takes new ones.
with entry as materialized (
  select *
  from json_to_recordset($1::json) as e (
    bucket smallint, {entry-fields},
    idempotency_key text, fingerprint text
  )
  where 1 / (case when e.request_id > coalesce((select promised from bellhop.closed_timestamp), '00000000-0000-0000-0000-000000000000')
    then 1 else 0 end) = 1
), claimed as (
  insert into bellhop.idempotency_key as held (client_id, key, request_id, fingerprint, created_at)
  select distinct on (client_id, idempotency_key)
    client_id, idempotency_key, request_id, decode(fingerprint, 'hex'), received_at
  from entry
  where idempotency_key is not null
  order by client_id, idempotency_key, request_id
  on conflict (client_id, key) do update
    set request_id = excluded.request_id, fingerprint = excluded.fingerprint, created_at = excluded.created_at
    where held.created_at < excluded.created_at - interval '24 hours'
  returning held.request_id
)
{insert-entries of bucket}
from entry
where idempotency_key is null or request_id in (select request_id from claimed)
returning request_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
