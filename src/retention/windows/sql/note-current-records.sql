-- Where the records lie that were received from $1 to before $2 and are current or held: they outlive the terms.
insert into pointed_record (bucket, request_id, record_index)
select bucket, request_id, record_index from bellhop_state.current_record
where request_id >= $1::uuid and request_id < $2::uuid
union
select bucket, request_id, record_index from bellhop.quarantine
where request_id >= $1::uuid and request_id < $2::uuid and state = 'h'
