-- Under another pepper ($5), unless the secret was changed since its digest $3 was read.
update bellhop.client_secret set digest = $4, pepper = $5 where client_id = $1 and slot = $2 and digest = $3
