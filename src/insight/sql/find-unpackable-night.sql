-- Whether property $2 has an entry received after $3 and up to $4 with a number too large for a segment. Runs of deltas have lower limits
-- (src/apply/ledger/content-nights.ts).
select exists (
  select from bellhop_state.night_entry
  where property_id = $2 and nights <= 31 and received_at > $3 and received_at <= $4 and bucket = $1
    and (
      greatest(abs(rooms), abs(adults), abs(children)) > 32767 or nights < 0
      or greatest(scale(room_revenue), scale(gross_room_revenue)) > 4
      or greatest(abs(room_revenue), abs(gross_room_revenue)) >= 100000000000
      or room_revenue = 'NaN' or gross_room_revenue = 'NaN'
      or first_night not between date '0001-01-01' and date '9999-12-31'
      or not isfinite(source_time) or not isfinite(received_at)
    )
) as found
