update bellhop.payload_key set sealed = $3 where key_id = $1 and sealed = $2
