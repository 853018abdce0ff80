-- Puts the small packs of the quarters of the property $2 together that have many of them; large ones stay as they are, so
-- that nothing is written again and again.
with small as (
  select quarter, received_up_to
  from (
    select quarter, received_up_to, count(*) over (partition by quarter) as packs
    from bellhop_state.night_pack
    where bucket = $1 and property_id = $2 and octet_length(packed) < 65536
  ) as counted
  where packs > 16
),
taken as (
  delete from bellhop_state.night_pack as pack
  using small
  where pack.bucket = $1 and pack.property_id = $2 and pack.quarter = small.quarter
    and pack.received_up_to = small.received_up_to
  returning pack.quarter, pack.received_up_to, pack.entries, pack.packed
)
insert into bellhop_state.night_pack (bucket, property_id, quarter, received_up_to, entries, packed)
select $1, $2, quarter, max(received_up_to), sum(entries), string_agg(packed, ''::bytea) from taken group by quarter
