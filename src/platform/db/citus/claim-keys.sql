-- The keys of one flush, on the coordinator: claimed in order, as in append-entries; answers the requests that have theirs.
insert into bellhop.idempotency_key as held (client_id, key, request_id, fingerprint, created_at)
select distinct on (client_id, idempotency_key)
  client_id, idempotency_key, request_id, decode(fingerprint, 'hex'), received_at
from json_to_recordset($1::json) as e (
  request_id uuid, client_id text, received_at timestamptz, idempotency_key text, fingerprint text
)
where idempotency_key is not null
order by client_id, idempotency_key, request_id
on conflict (client_id, key) do update
  set request_id = excluded.request_id, fingerprint = excluded.fingerprint, created_at = excluded.created_at
  where held.created_at < excluded.created_at - interval '24 hours'
returning held.request_id
