select client_id as "clientId", name from bellhop.client where client_id = any ($1::text[])
