select message_id from bellhop.webhook_message where event = 'changes.available' order by message_id
