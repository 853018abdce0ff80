-- Everything that src/identity/seal.ts sealed: where it lies, the name that is bound into it, and the value. Another place of such
-- values belongs here, or a change of KEY_ENCRYPTION_KEY would lose them (a test looks for them in every column).
select 'instance' as place, name as id, name as bound, value as sealed
from bellhop.instance
where value like 'plain:%' or value like 'aes256gcm:%'
union all
select 'signing_key', kid, 'signing key ' || kid, private_key from bellhop.signing_key where private_key is not null
union all
select 'webhook_secret', endpoint_id::text, 'webhook secret ' || endpoint_id || '/' || slot, sealed
from bellhop.webhook_secret
union all
select 'payload_key', key_id::text, 'payload key ' || key_id, sealed from bellhop.payload_key
