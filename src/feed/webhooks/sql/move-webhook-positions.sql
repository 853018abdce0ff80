-- Moves the positions of endpoint $1 from $2 to $3, unless somebody has moved them since, or asks for other changes ($4 to $6)
-- than were looked for. Of several nodes at the same place one goes on: the others wait for its row, and find it moved.
update bellhop.webhook_endpoint set positions = $3
where endpoint_id = $1 and positions is not distinct from $2
  and resource is not distinct from $4 and client_code is not distinct from $5 and property_code is not distinct from $6
