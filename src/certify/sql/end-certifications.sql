-- Ends what is open of the client.
update bellhop.certification set ends_at = clock_timestamp() where client_id = $1 and ends_at > clock_timestamp()
