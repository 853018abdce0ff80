update bellhop.client
set name = $2, scopes = $3, request_rate = $4, request_burst = $5, token_burst = $6, reply_to_origins = $7, changed_epoch = $8
where client_id = $1
