delete from bellhop.status_mapping where client_code = $1 and resource = $2 and label = $3
