-- Backfills of the client $1 (null: of all) in the state $2 (null: any), newest first, before ($3, $4), at most $5.
select
  backfill.backfill_id, backfill.client_id, backfill.client_code, backfill.property_code, backfill.bucket, backfill.manifest,
  backfill.note, backfill.state, backfill.counted_to, backfill.statement, backfill.statement_hash,
  backfill.abandoned_by, backfill.abandoned_why,
  to_char(backfill.opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as opened_at,
  to_char(backfill.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ended_at,
  (
    select coalesce(json_agg(json_build_object(
      'side', signature.side, 'signedBy', signature.signed_by,
      'signedAt', to_char(signature.signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'statementHash', signature.statement_hash
    ) order by signature.signed_at), '[]')
    from bellhop.backfill_signature as signature where signature.backfill_id = backfill.backfill_id
  ) as signatures
from bellhop.backfill as backfill
where ($1::text is null or backfill.client_id = $1) and ($2::"char" is null or backfill.state = $2::"char")
  and ($3::timestamptz is null or (backfill.opened_at, backfill.backfill_id) < ($3::timestamptz, $4::uuid))
order by backfill.opened_at desc, backfill.backfill_id desc
limit $5
