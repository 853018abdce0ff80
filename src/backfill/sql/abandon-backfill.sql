update bellhop.backfill
set state = 'a', ended_at = clock_timestamp(), abandoned_by = $2, abandoned_why = $3
where backfill_id = $1 and state = 'o'
