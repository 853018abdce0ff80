(
  select current_record.*
  from (
    select 'i'::"char" as resource, property_id, key from bellhop_state.inventory_version
    where bucket = $1::smallint and change_no > $2::bigint and change_no <= $3::bigint
    union
    select 'r', property_id, key from bellhop_state.reservation_version
    where bucket = $1 and change_no > $2 and change_no <= $3
    union
    select 'g', property_id, key from bellhop_state.group_version
    where bucket = $1 and change_no > $2 and change_no <= $3
  ) as changed
  join bellhop_state.current_record
    on current_record.bucket = $1 and current_record.property_id = changed.property_id
    and current_record.resource = changed.resource and current_record.key = changed.key
)
