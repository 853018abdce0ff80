-- The first and last night that inventory was sent for. Two index scans of one row each.
select
  (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i' order by key limit 1)
    as first,
  (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i'
    order by key desc limit 1) as last
