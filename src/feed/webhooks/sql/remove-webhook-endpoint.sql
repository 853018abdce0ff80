-- Endpoint $1 with its secrets, what waits for it, its dead letters and its delivery log.
delete from bellhop.webhook_endpoint where endpoint_id = $1
