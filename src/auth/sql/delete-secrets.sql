delete from bellhop.client_secret where client_id = $1
