delete from bellhop.client_grant where client_id = $1
