-- A thousand at a time, so that no transaction holds many rows that a flush may want to claim.
delete from bellhop.idempotency_key
where (client_id, key) in (
  select client_id, key from bellhop.idempotency_key
  where created_at < clock_timestamp() - interval '25 hours'
  order by created_at
  limit 1000
  for update skip locked
)
