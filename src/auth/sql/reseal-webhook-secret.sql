update bellhop.webhook_secret set sealed = $3 where endpoint_id = $1 and sealed = $2
