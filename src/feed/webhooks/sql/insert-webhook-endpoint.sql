-- A new endpoint, unless its client has $10 already, which is told of changes from $11 on. $2 kind, as the migration says.
insert into bellhop.webhook_endpoint
  (endpoint_id, kind, client_id, url, description, events, resource, client_code, property_code, positions, shard)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $11, get_byte(uuid_send($1::uuid), 15) % 16
where (select count(*) from bellhop.webhook_endpoint as other where other.client_id = $3 and other.kind = 'w') < $10
returning endpoint_id
