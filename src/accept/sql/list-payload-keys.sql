select key_id as "keyId", created_at as "createdAt", retired_at as "retiredAt", sealed like 'plain:%' as "isReadable"
from bellhop.payload_key
order by created_at desc, key_id
