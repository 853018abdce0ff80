select body from bellhop.webhook_message where message_id = $1
