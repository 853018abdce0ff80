-- The statements of the backfills that the client $1 has closed from $2 to $3, oldest first: of a year's few.
select backfill_id, statement, statement_hash as hash
from bellhop.backfill
where client_id = $1 and state = 'c' and ended_at >= $2::timestamptz and ended_at <= coalesce($3::timestamptz, 'infinity')
order by opened_at, backfill_id
limit 20
