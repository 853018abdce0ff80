-- The first night from $3 on that may have entries of the property (or inventory, if $4 is set); null if there is none.
-- Plan: the first row of each index of short entries and of current_record's primary key; all long entries, which are few.
select to_char(least(
  {parts/next-night of night_entry},
  {parts/next-night of ledger_delta},
  {parts/next-night of block_entry},
  (
    select key::date from bellhop_state.current_record
    where $4::boolean and bucket = $1 and property_id = $2 and resource = 'i' and key >= to_char($3::date, 'YYYY-MM-DD') order by key limit 1
  )
), 'YYYY-MM-DD') as night
