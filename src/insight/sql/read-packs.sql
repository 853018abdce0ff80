-- The packs of the property $2 with entries that may have a night from $3 to $4: an index scan of the primary key.
select packed
from bellhop_state.night_pack
where bucket = $1 and property_id = $2
  and quarter between date_trunc('quarter', $3::date - interval '30 days')::date and $4::date
