-- Retires the current key if it is older than $1 days. It goes on opening what it sealed.
update bellhop.payload_key set retired_at = clock_timestamp()
where retired_at is null and created_at <= clock_timestamp() - make_interval(days => $1)
