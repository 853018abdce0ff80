insert into bellhop.status_mapping (client_code, resource, label, deducts) values ($1, $2, $3, $4)
on conflict (client_code, resource, label) do update set deducts = excluded.deducts
