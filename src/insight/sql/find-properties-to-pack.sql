-- The properties that have entries which were received after $1, and those that have entries and no packs; without $1 all that have
-- entries; an exchange has entries, too. Bitmap scans of night_entry_received and night_exchange_received, and one look into an
-- index of each a property.
select bucket, property_id from bellhop_state.night_entry where received_at > $1::timestamptz group by bucket, property_id
union
select bucket, property_id from bellhop_state.night_exchange where received_at > $1::timestamptz group by bucket, property_id
union
select property.bucket, property.property_id
from bellhop.property as property
where (
    exists (select from bellhop_state.night_entry as entry where entry.property_id = property.property_id and entry.nights <= 31)
    or exists (
      select from bellhop_state.night_exchange as exchange where exchange.property_id = property.property_id and exchange.nights <= 31
    )
  )
  and (
    $1::timestamptz is null
    or not exists (
      select from bellhop_state.night_pack_progress as packed
      where packed.bucket = property.bucket and packed.property_id = property.property_id
    )
  )
