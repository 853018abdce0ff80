-- Imports one erasure of a list unless it is known, and raises the list's version. Returns a row if it was not known.
with brought as (
  insert into bellhop.erasure (erasure_id, reason, requested_by, started_at, finished_at, certificate, certificate_hash)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (erasure_id) do nothing
  returning erasure_id
), listed as (
  insert into bellhop.erasure_subject (erasure_id, client_code, property_code, resource, key, profile_digest)
  select distinct brought.erasure_id, client_code, property_code, resource, key, decode(profile, 'hex')
  from brought, json_to_recordset($8::json) as subject (client_code text, property_code text, resource "char", key text, profile text)
), raised as (
  update bellhop.privacy_version set version = version + 1 where exists (select from brought)
)
select erasure_id from brought
