select key_id as "keyId", sealed, retired_at is null as "isCurrent" from bellhop.payload_key
