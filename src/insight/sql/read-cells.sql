-- The groups, currencies and causes of property $2 with the dimensions that count (statuses $3, and fees under $4) and the unmapped ones
-- (neither $3 nor $4), eight bytes each in hexadecimal. $5: group statuses that deduct; $6: the default currency. Nothing if the property has
-- more than $7 dimensions.
with reported as (
  select
    dimension,
    {unit} as unit,
    coalesce(currency_code, $6) as currency,
    cause,
    (status = any ($3::text[])) is true as deducts,
    (status = any ($4::text[])) is true as is_off,
    (status = any ($5::text[])) is true as holds,
    count(*) over () as dimensions
  from (
    select * from bellhop_state.night_dimension as t
    where bucket = $1 and property_id = $2 {and-bucket}
    limit $7::integer + 1
  ) as few
),
kind as (
  select dimension, unit, currency, {parts/cause-of-kind} as cause, deducts, holds,
    not deducts and not is_off and coalesce(cause = 'posted', true) as is_unmapped
  from reported
  where dimensions <= $7::integer
)
select
  unit, currency, cause,
  coalesce(encode(string_agg(int8send(dimension), ''::bytea) filter (where deducts or cause = 'fee'), 'hex'), '') as counting,
  coalesce(encode(string_agg(int8send(dimension), ''::bytea) filter (where is_unmapped), 'hex'), '') as unmapped
from kind
where holds or deducts or is_unmapped or cause = 'fee'
group by unit, currency, cause
order by unit, currency, cause
