-- The properties that have entries which were received after $1, and those that have entries and no packs; without $1 all that have
-- entries. A bitmap scan of night_entry_received, and one look into an index a property.
select bucket, property_id from bellhop_state.night_entry where received_at > $1::timestamptz group by bucket, property_id
union
select property.bucket, property.property_id
from bellhop.property as property
where exists (
    select from bellhop_state.night_entry as entry where entry.property_id = property.property_id and entry.nights <= 31
  )
  and (
    $1::timestamptz is null
    or not exists (
      select from bellhop_state.night_pack_progress as packed
      where packed.bucket = property.bucket and packed.property_id = property.property_id
    )
  )
