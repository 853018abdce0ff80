-- $1 digest, $2 operator, $3 maximum lifetime in seconds, $4 sessions per operator.
-- $5 to $7 (null: not compared): the password hash, whether TOTP is on, and the account's subject, as verified. Locking the operator's
-- row waits for a concurrent change of these, which deletes the existing sessions.
-- Deletes expired sessions and the operator's oldest ones beyond $4.
with operator as (
  update bellhop.operator set last_login_at = clock_timestamp()
  where name = $2 and disabled_at is null and ($5::text is null or password_hash = $5)
    and ($6::boolean is null or (totp_since is not null) = $6) and ($7::text is null or oidc_subject = $7)
  returning name
),
opened as (
  insert into bellhop.operator_session (digest, operator_name, expires_at)
  select $1, name, clock_timestamp() + make_interval(secs => $3) from operator
)
delete from bellhop.operator_session
where expires_at < clock_timestamp()
  or digest in (
    select digest from bellhop.operator_session where operator_name = $2 order by created_at desc offset $4 - 1
  )
