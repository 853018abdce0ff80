-- As find-properties-to-pack, where tables are distributed: of the properties $3, of the buckets $2. Each worker looks at its own buckets.
select home.bucket, property.property_id
from bellhop.bucket_lease as home
join unnest($2::smallint[], $3::integer[]) as property (bucket, property_id) on property.bucket = home.bucket
where exists (
    select from bellhop_state.night_entry as entry
    where entry.bucket = home.bucket and entry.property_id = property.property_id and entry.nights <= 31
      and ($1::timestamptz is null or entry.received_at > $1::timestamptz)
  )
  or exists (
    select from bellhop_state.night_exchange as exchange
    where exchange.bucket = home.bucket and exchange.property_id = property.property_id and exchange.nights <= 31
      and ($1::timestamptz is null or exchange.received_at > $1::timestamptz)
  )
  or (
    (
      exists (
        select from bellhop_state.night_entry as entry
        where entry.bucket = home.bucket and entry.property_id = property.property_id and entry.nights <= 31
      )
      or exists (
        select from bellhop_state.night_exchange as exchange
        where exchange.bucket = home.bucket and exchange.property_id = property.property_id and exchange.nights <= 31
      )
    )
    and not exists (
      select from bellhop_state.night_pack_progress as packed
      where packed.bucket = home.bucket and packed.property_id = property.property_id
    )
  )
