select client_id as "clientId" from bellhop.client where changed_epoch > $1
