-- The first night from $3 on on which anything of the property may be (inventory where $4 is set); null where there is nothing more.
-- Plan: the first row of each index of short ones and of current_record's primary key; all long ones, which are few.
select to_char(least(
  {parts/next-night of night_entry},
  {parts/next-night of ledger_delta},
  {parts/next-night of block_entry},
  (
    select key::date from bellhop_state.current_record
    where $4::boolean and bucket = $1 and property_id = $2 and resource = 'i' and key >= to_char($3::date, 'YYYY-MM-DD') order by key limit 1
  )
), 'YYYY-MM-DD') as night
