-- Ends the attempt of message $1 by lease $2: its state is $3 with result $4, subject $5 and body $6. A waiting message is due again
-- in $7 seconds. Changes nothing if another node has leased it since.
update bellhop.subscription_message
set state = $3, result = $4, subject = $5, body_html = $6, lease = null, leased_until = null,
  settled_at = case when $3 <> 'waiting' then clock_timestamp() end,
  next_try_at = case when $3 = 'waiting' then clock_timestamp() + make_interval(secs => $7::float8) else next_try_at end
where message_id = $1 and lease = $2
