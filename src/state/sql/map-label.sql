-- Says what a label means. What is on the books hangs on it, so the version of the client code's settings rises with it;
-- neither moves where it was said already.
with written as (
  insert into bellhop.status_mapping as kept (client_code, resource, label, deducts) values ($1, $2, $3, $4)
  on conflict (client_code, resource, label) do update set deducts = excluded.deducts
    where kept.deducts <> excluded.deducts
  returning client_code
)
insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from written
on conflict (client_code) do update set version = kept.version + 1
