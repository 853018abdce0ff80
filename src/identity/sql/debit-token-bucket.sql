-- Takes one token from the client's bucket, or returns no row if the bucket is empty. One statement, so concurrent nodes cannot overspend.
-- $1 client, $2 burst, $3 seconds to refill one token, $4 strict: at most $2 tokens in any hour.
-- full_at (GCRA) is when the bucket will be full again; each token moves it by $3. A full_at beyond that of an empty bucket
-- (the burst was lowered or the clock set back) counts as an empty bucket. excluded.issued_at[1] is the statement's current time.
insert into bellhop.token_bucket as b (client_id, full_at, issued_at)
select $1, moment + make_interval(secs => $3::integer), array[moment] from clock_timestamp() as moment
on conflict (client_id) do update set
  full_at = greatest(
    least(b.full_at, excluded.issued_at[1] + make_interval(secs => $2::integer * $3::integer)),
    excluded.issued_at[1]
  ) + make_interval(secs => $3::integer),
  issued_at = array(
    select t from unnest(b.issued_at || excluded.issued_at) t
    where t > excluded.issued_at[1] - interval '1 hour' order by t
  )
where case
  when $4 then (
    select count(*) from unnest(b.issued_at) t where t > excluded.issued_at[1] - interval '1 hour'
  ) < $2::integer
  else b.full_at <= excluded.issued_at[1] + make_interval(secs => ($2::integer - 1) * $3::integer)
end
returning extract(epoch from full_at - clock_timestamp())::float8 as "fullInSeconds",
  cardinality(issued_at) as "issuedInHour",
  extract(epoch from issued_at[1] + interval '1 hour' - clock_timestamp())::float8 as "oldestLeavesInSeconds"
