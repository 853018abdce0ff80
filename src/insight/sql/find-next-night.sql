-- The first night from $3 on on which anything of the property may be (inventory where $4 is set); null where there is nothing more.
-- Plan: the first row of each index of short ones and of current_record's primary key; all long ones, which are few.
select to_char(least(
  (
    select min(greatest(first_night, $3::date)) from bellhop_state.night_entry
    where bucket = $1 and property_id = $2 and nights > 31 and first_night + nights > $3::date
  ),
  (
    select greatest(first_night, $3::date) from bellhop_state.night_entry
    where bucket = $1 and property_id = $2 and nights <= 31 and first_night > $3::date - 31 order by first_night limit 1
  ),
  (
    select min(greatest(first_night, $3::date)) from bellhop_state.ledger_delta
    where bucket = $1 and property_id = $2 and nights > 31 and first_night + nights > $3::date
  ),
  (
    select greatest(first_night, $3::date) from bellhop_state.ledger_delta
    where bucket = $1 and property_id = $2 and nights <= 31 and first_night > $3::date - 31 order by first_night limit 1
  ),
  (
    select min(greatest(first_night, $3::date)) from bellhop_state.block_entry
    where bucket = $1 and property_id = $2 and nights > 31 and first_night + nights > $3::date
  ),
  (
    select greatest(first_night, $3::date) from bellhop_state.block_entry
    where bucket = $1 and property_id = $2 and nights <= 31 and first_night > $3::date - 31 order by first_night limit 1
  ),
  (
    select key::date from bellhop_state.current_record
    where $4::boolean and bucket = $1 and property_id = $2 and resource = 'i' and key >= to_char($3::date, 'YYYY-MM-DD') order by key limit 1
  )
), 'YYYY-MM-DD') as night
