-- What its owner decides of endpoint $1. Where that concerns changes, it is told of those behind $8.
update bellhop.webhook_endpoint
set url = $2, description = $3, events = $4, resource = $5, client_code = $6, property_code = $7, positions = coalesce($8, positions)
where endpoint_id = $1
