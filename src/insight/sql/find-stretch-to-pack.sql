-- The receipt with which the entries of property $2 received after $3 and up to $4 reach $5; nothing if they are fewer. A batch has one receipt.
select received_at::text as "upTo"
from (
  select received_at, sum(entries) over (order by received_at) as so_far
  from (
    select received_at, sum(entries) as entries
    from (
      select received_at, 1 as entries
      from bellhop_state.night_entry
      where property_id = $2 and nights <= 31 and received_at > $3 and received_at <= $4 and bucket = $1
      union all
      select received_at, cardinality(runs) / 4
      from bellhop_state.ledger_delta
      where property_id = $2 and nights <= 31 and received_at > $3 and received_at <= $4 and bucket = $1
    ) as entry
    group by received_at
  ) as receipt
) as summed
where so_far >= $5
order by received_at
limit 1
