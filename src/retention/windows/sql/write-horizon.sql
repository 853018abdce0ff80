-- What was known from an earlier instant on is known from $4 on; a horizon never goes back.
insert into bellhop.retention_horizon as kept (client_code, resource, kind, known_from)
select client_code, resource, kind, $4::timestamptz
from unnest($1::text[], $2::"char"[], $3::text[]) as past (client_code, resource, kind)
on conflict (client_code, resource, kind)
  do update set known_from = greatest(kept.known_from, excluded.known_from)
