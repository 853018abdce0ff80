-- Adds new properties of one client unless they exceed its daily limit $3, or that of all clients of a client code $4, because each property
-- costs every node some work. Run under the client's advisory lock; clients that add at the same moment may exceed $4.
-- Inserts in a fixed order, so that two clients adding the same properties cannot deadlock.
with wanted as (
  select w.client_code, w.property_code, w.bucket
  from json_to_recordset($2::json) as w (client_code text, property_code text, bucket smallint)
  where not exists (
    select from bellhop.property p where p.client_code = w.client_code and p.property_code = w.property_code
  )
), allowed as (
  select
    (select count(*) from wanted) = 0
    or (
      select count(*) from bellhop.property
      where created_by = $1 and created_at > clock_timestamp() - interval '1 day'
    ) + (select count(*) from wanted) <= $3::integer
    and not exists (
      select from wanted w
      group by w.client_code
      having count(*) + (
        select count(*) from bellhop.property p
        where p.client_code = w.client_code and p.created_at > clock_timestamp() - interval '1 day'
      ) > $4::integer
    ) as yes
), added as (
  insert into bellhop.property (client_code, property_code, bucket, created_by)
  select client_code, property_code, bucket, $1 from wanted where (select yes from allowed)
  order by client_code, property_code
  on conflict (client_code, property_code) do nothing
)
select yes from allowed
