-- Moves the positions of endpoint $1 from $2 to $3, unless somebody has moved them since.
update bellhop.webhook_endpoint set positions = $3
where endpoint_id = $1 and positions is not distinct from $2
