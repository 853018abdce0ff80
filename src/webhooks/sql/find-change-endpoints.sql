-- Endpoints in shards $1 that subscribe to changes and have no changes message waiting.
select
  endpoint.endpoint_id as "endpointId", endpoint.client_id as "clientId", endpoint.resource,
  endpoint.client_code as "clientCode", endpoint.property_code as "propertyCode", endpoint.positions,
  (select version::text from bellhop.privacy_version) as "privacyVersion"
from bellhop.webhook_endpoint as endpoint
join bellhop.client as client on client.client_id = endpoint.client_id
where endpoint.shard = any ($1::smallint[]) and 'changes.available' = any (endpoint.events)
  and endpoint.paused_at is null and client.revoked_at is null and 'read' = any (client.scopes)
  and not exists (
    select from bellhop.webhook_message as message
    where message.endpoint_id = endpoint.endpoint_id and message.event = 'changes.available' and message.dead_at is null
  )
order by endpoint.endpoint_id
