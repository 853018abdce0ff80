-- At most $6 backfills of client $1 (null: all) in state $2 (null: any) with id $3 (null: any), newest first, before ($4, $5), of the
-- properties within $7 (null: any; Scope.keys).
select
  backfill.backfill_id as "backfillId", backfill.client_id as "clientId", backfill.bucket,
  json_build_object(
    'clientCode', backfill.client_code, 'propertyCode', backfill.property_code,
    'resources', backfill.manifest -> 'resources', 'note', backfill.note
  ) as manifest,
  case backfill.state when 'o' then 'open' when 'c' then 'closed' else 'abandoned' end as state,
  to_char(backfill.opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "openedAt",
  to_char(backfill.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "endedAt",
  backfill.counted_to as "countedTo", backfill.statement, backfill.statement_hash as "statementHash",
  (
    select coalesce(json_agg(json_build_object(
      'side', signature.side, 'signedBy', signature.signed_by,
      'signedAt', to_char(signature.signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'statementHash', signature.statement_hash
    ) order by signature.signed_at), '[]')
    from bellhop.backfill_signature as signature where signature.backfill_id = backfill.backfill_id
  ) as signatures,
  backfill.abandoned_by as "abandonedBy", backfill.abandoned_why as "abandonedWhy"
from bellhop.backfill as backfill
where ($1::text is null or backfill.client_id = $1) and ($2::"char" is null or backfill.state = $2::"char")
  and ($3::uuid is null or backfill.backfill_id = $3)
  and ($4::timestamptz is null or (backfill.opened_at, backfill.backfill_id) < ($4::timestamptz, $5::uuid))
  and ($7::text[] is null or backfill.client_code || E'\n*' = any ($7)
    or backfill.client_code || E'\n' || backfill.property_code = any ($7))
order by backfill.opened_at desc, backfill.backfill_id desc
limit $6
