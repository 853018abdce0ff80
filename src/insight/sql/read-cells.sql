-- The groups and currencies of property $2 with the dimensions that deduct (statuses $3) and the unmapped ones (neither $3 nor $4), eight
-- bytes each in hexadecimal. $5: group statuses that deduct; $6: the default currency.
with reported as materialized (
  select
    dimension,
    {unit} as unit,
    coalesce(currency_code, $6) as currency,
    (status = any ($3::text[])) is true as deducts,
    (status = any ($4::text[])) is true as is_off,
    (status = any ($5::text[])) is true as holds
  from bellhop_state.night_dimension as t
  where bucket = $1 and property_id = $2 /* and its bucket */
)
select
  unit, currency,
  coalesce(encode(string_agg(int8send(dimension), ''::bytea) filter (where deducts), 'hex'), '') as deducting,
  coalesce(encode(string_agg(int8send(dimension), ''::bytea) filter (where not deducts and not is_off), 'hex'), '') as unmapped
from reported
where holds or not is_off
group by unit, currency
order by unit, currency
