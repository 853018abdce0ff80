-- The endpoint that stands for the origin $3 in ReplyTo headers of client $2: the one there is, or a new one with the id $1.
with added as (
  insert into bellhop.webhook_endpoint (endpoint_id, kind, client_id, url, events, shard)
  values ($1, 'r', $2, $3, array['request.applied'], get_byte(uuid_send($1::uuid), 15) % 16)
  on conflict (client_id, url) where kind = 'r' do nothing
  returning endpoint_id
)
select endpoint_id, true as is_new from added
union all
select endpoint_id, false from bellhop.webhook_endpoint where client_id = $2 and url = $3 and kind = 'r'
