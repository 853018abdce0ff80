-- From now on nothing that it signed is good. Its private part goes with it.
update bellhop.signing_key
set remove_at = clock_timestamp(), private_key = null
where kid = $1 and (remove_at is null or remove_at > clock_timestamp())
returning kid
