select pg_advisory_lock_shared($1::integer, known) from unnest($2::integer[]) as known
