insert into bellhop.client_grant (client_id, client_code, property_code)
select $1, client_code, property_code from unnest($2::text[], $3::text[]) as g (client_code, property_code)
on conflict do nothing
