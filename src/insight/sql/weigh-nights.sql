-- Number of rows that shared rooms and group blocks expand to for the nights $3 to $4, and if $5 all stays.
select
  (
    select coalesce(sum(least(first_night + nights, $4::date + 1) - greatest(first_night, $3::date)), 0)
    from bellhop_state.night_entry
    where bucket = $1 and property_id = $2 and share_id is not null
      and first_night <= $4::date and first_night + nights > $3::date
  )::float8 as shared,
  (
    select coalesce(sum(least(first_night + nights, $4::date + 1) - greatest(first_night, $3::date)), 0)
    from bellhop_state.block_entry
    where bucket = $1 and property_id = $2 and (nights > 31 or first_night >= $3::date - 30)
      and first_night <= $4::date and first_night + nights > $3::date
  )::float8 as blocks,
  (
    select coalesce(sum(least(first_night + nights, $4::date + 1) - greatest(first_night, $3::date)), 0)
    from (
      select first_night, nights from bellhop_state.night_entry where bucket = $1 and property_id = $2
      union all
      select first_night, nights from bellhop_state.ledger_delta where bucket = $1 and property_id = $2
    ) as entry
    where $5::boolean and (nights <= 31 and first_night >= $3::date - 30 or nights > 31)
      and first_night <= $4::date and first_night + nights > $3::date
  )::float8 as stays
