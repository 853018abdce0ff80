-- Certifications, the newest first: all ($1 null), or those of the client or certification that $1 names.
select
  certification_id as "certificationId", client_id as "clientId",
  client_code as "clientCode", property_code as "propertyCode",
  request_rate as "requestRate", request_burst as "requestBurst", token_seconds as "tokenSeconds",
  to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "openedAt",
  to_char(ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "endsAt",
  ends_at > clock_timestamp() as "isOpen"
from bellhop.certification
where $1::text is null or client_id = $1 or certification_id::text = $1
order by opened_at desc
limit $2::integer
