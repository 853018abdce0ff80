select sealed from bellhop.payload_key where key_id = $1
