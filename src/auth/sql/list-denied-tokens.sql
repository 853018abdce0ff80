select jti, extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs"
from bellhop.denied_token
where changed_epoch > $1 and expires_at > clock_timestamp()
