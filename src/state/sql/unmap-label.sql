-- Takes a mapping back; the version of the client code's settings rises where there was one.
with removed as (
  delete from bellhop.status_mapping where client_code = $1 and resource = $2 and label = $3 returning client_code
)
insert into bellhop.settings_version as kept (client_code, version) select client_code, 1 from removed
on conflict (client_code) do update set version = kept.version + 1
