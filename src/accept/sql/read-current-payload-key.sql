select key_id as "keyId", sealed from bellhop.payload_key where retired_at is null
