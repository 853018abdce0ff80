-- An hour after a token's end no clock on any node can still take it for alive.
delete from bellhop.denied_token where expires_at < clock_timestamp() - interval '1 hour'
