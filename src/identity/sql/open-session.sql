-- $1 digest, $2 operator, $3 seconds until it ends at the latest, $4 sessions an operator may have.
-- Of more than those the oldest end; so do those of anybody whose time is over.
with opened as (
  insert into bellhop.operator_session (digest, operator_name, expires_at)
  values ($1, $2, clock_timestamp() + make_interval(secs => $3))
),
over as (
  delete from bellhop.operator_session
  where expires_at < clock_timestamp()
    or digest in (
      select digest from bellhop.operator_session where operator_name = $2 order by created_at desc offset $4 - 1
    )
)
update bellhop.operator set last_login_at = clock_timestamp() where name = $2
