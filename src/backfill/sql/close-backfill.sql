-- Closes the backfill $1, unless that has been done, with its statement, and the partner's ($6) signature below it.
with closed as (
  update bellhop.backfill
  set state = 'c', ended_at = $2::timestamptz, counted_to = $3::uuid, statement = $4, statement_hash = $5
  where backfill_id = $1 and state = 'o'
  returning backfill_id
)
insert into bellhop.backfill_signature (backfill_id, side, signed_by, signed_at, statement_hash)
select backfill_id, 'partner', $6, $2::timestamptz, $5 from closed
