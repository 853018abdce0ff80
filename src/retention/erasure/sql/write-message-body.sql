update bellhop.webhook_message set body = $2 where message_id = $1
