update bellhop.property set deleted_at = clock_timestamp() where property_id = $1
