-- A backfill with its signatures, of the client $2 or (null) of any.
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
where backfill.backfill_id = $1 and ($2::text is null or backfill.client_id = $2)
