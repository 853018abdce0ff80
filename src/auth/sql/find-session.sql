-- $1 digest, $2 seconds without a request after which a session ends.
select session.operator_name as name, session.expires_at as "expiresAt",
  session.last_seen_at < clock_timestamp() - interval '1 minute' as "isUnseen"
from bellhop.operator_session as session
join bellhop.operator as operator on operator.name = session.operator_name
where session.digest = $1 and session.expires_at > clock_timestamp()
  and session.last_seen_at > clock_timestamp() - make_interval(secs => $2)
  and operator.disabled_at is null
