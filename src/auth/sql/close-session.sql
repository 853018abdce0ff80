delete from bellhop.operator_session where digest = $1 returning operator_name as name
