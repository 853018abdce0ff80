insert into bellhop.client
  (client_id, name, scopes, request_rate, request_burst, token_burst, reply_to_origins, changed_epoch)
values ($1, $2, $3, $4, $5, $6, $7, $8)
returning created_at as "createdAt"
