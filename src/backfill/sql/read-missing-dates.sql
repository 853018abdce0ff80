-- Dates from $3 to $4 that the property $2 in the bucket $1 has no inventory of, in order: after the date $5, at most $6.
-- An inventory's key is its date, so each is a look into current_record's primary key.
select day.date::date::text as date
from generate_series(greatest($3::date, $5::date + 1), $4::date, interval '1 day') as day (date)
where not exists (
  select from bellhop_state.current_record as known
  where known.bucket = $1::smallint and known.property_id = $2 and known.resource = 'i'
    and known.key = to_char(day.date, 'YYYY-MM-DD')
)
order by day.date
limit $6
