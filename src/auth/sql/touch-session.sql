update bellhop.operator_session set last_seen_at = clock_timestamp() where digest = $1
