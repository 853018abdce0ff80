-- Merges the small segments of each quarter of property $2 that has more than 16 of them into the newest one.
with small as (
  select quarter, received_up_to, entries, packed
  from (
    select *, count(*) over (partition by quarter) as segments
    from bellhop_state.ledger_segment
    where bucket = $1 and property_id = $2 and octet_length(packed) < 65536
  ) as counted
  where segments > 16
),
merged as (
  select quarter, max(received_up_to) as received_up_to, sum(entries) as entries, string_agg(packed, ''::bytea) as packed
  from small
  group by quarter
),
taken as (
  delete from bellhop_state.ledger_segment as pack
  using small, merged
  where pack.bucket = $1 and pack.property_id = $2 and pack.quarter = small.quarter
    and pack.received_up_to = small.received_up_to
    and merged.quarter = small.quarter and small.received_up_to < merged.received_up_to
)
update bellhop_state.ledger_segment as pack set entries = merged.entries, packed = merged.packed
from merged
where pack.bucket = $1 and pack.property_id = $2 and pack.quarter = merged.quarter
  and pack.received_up_to = merged.received_up_to
