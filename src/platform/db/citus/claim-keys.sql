-- The keys of one flush over several workers, each in the first bucket of its batch: claimed in order, as in append-entries; answers the requests that have theirs.
insert into bellhop.idempotency_key as held (client_id, key, bucket, request_id, fingerprint, created_at)
select distinct on (client_id, key, key_bucket)
  client_id, key, key_bucket, request_id, decode(fingerprint, 'hex'), received_at
from json_to_recordset($1::json) as e (
  request_id uuid, client_id text, received_at timestamptz, key text, key_bucket smallint, fingerprint text
)
where key is not null
order by client_id, key, key_bucket, request_id
on conflict (client_id, key, bucket) do update
  set request_id = excluded.request_id, fingerprint = excluded.fingerprint, created_at = excluded.created_at
  where excluded.created_at - held.created_at > interval '24 hours'
returning held.request_id
