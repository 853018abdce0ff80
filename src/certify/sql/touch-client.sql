-- What nodes know of the client is to be read anew.
update bellhop.client set changed_epoch = $2 where client_id = $1
