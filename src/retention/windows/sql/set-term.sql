-- Terms of a client code (or of every one, *), under their names. No figure depends on them, so the version of the client
-- code's settings stays as it is.
insert into bellhop.property_setting as kept (client_code, property_code, name, value)
select $1, null, name, $3 from unnest($2::text[]) as term (name)
on conflict on constraint property_setting_key
  do update set value = excluded.value, changed_at = clock_timestamp() where kept.value <> excluded.value
