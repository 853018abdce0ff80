-- What decides what client $1 may be told.
select scopes, revoked_at is not null as "isRevoked" from bellhop.client where client_id = $1
