-- Only while it is still the value that was read, so that two nodes doing this at once do no harm.
update bellhop.instance set value = $3 where name = $1 and value = $2
