-- What its owner decides of endpoint $1.
update bellhop.webhook_endpoint
set url = $2, description = $3, events = $4, resource = $5, client_code = $6, property_code = $7
where endpoint_id = $1
