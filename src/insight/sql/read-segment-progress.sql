-- Up to which receipt the property $2 is packed.
select received_up_to::text as received_up_to from bellhop_state.ledger_segment_progress where bucket = $1 and property_id = $2
