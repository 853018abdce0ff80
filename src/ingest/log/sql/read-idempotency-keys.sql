-- Who holds the keys that a flush could not claim.
select held.client_id, held.key, held.request_id, encode(held.fingerprint, 'hex') as fingerprint
from json_to_recordset($1::json) as wanted (client_id text, key text)
join bellhop.idempotency_key held on held.client_id = wanted.client_id and held.key = wanted.key
