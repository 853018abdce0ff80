-- The run and its subjects at once, and everybody looks at the list anew.
with begun as (
  insert into bellhop.erasure (erasure_id, reason, requested_by, salt) values ($1, $2, $3, $4)
), listed as (
  insert into bellhop.erasure_subject (erasure_id, client_code, property_code, resource, key, profile_digest)
  select distinct $1::uuid, client_code, property_code, resource, key, decode(profile, 'hex')
  from json_to_recordset($5::json) as subject (client_code text, property_code text, resource "char", key text, profile text)
)
update bellhop.privacy_version set version = version + 1
