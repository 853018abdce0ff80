update bellhop.operator set password_hash = $2, password_changed_at = clock_timestamp() where name = $1
