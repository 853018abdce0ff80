insert into bellhop.audit_entry (who, what, client_id, detail) values ($1, $2, $3, $4)
