-- The operator's ($2) signature below the statement of the backfill $1, if that has the hash $3 and none yet.
insert into bellhop.backfill_signature (backfill_id, side, signed_by, statement_hash)
select backfill_id, 'operator', $2, statement_hash
from bellhop.backfill
where backfill_id = $1 and state = 'c' and statement_hash = $3
on conflict (backfill_id, side) do nothing
