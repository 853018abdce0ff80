-- Records that the alerts $4 ended, of which $5 are reported, and that the conditions $3 began, in the message $2 of subscription $1
-- (null: nothing is reported). $3: [{"client_code", "property_code", "condition", "subject", "detail"}].
with ended as (
  update bellhop.alert
  set ended_at = clock_timestamp(), ended_message = case when alert_id = any ($5::bigint[]) then $2::uuid end
  where subscription_id = $1 and alert_id = any ($4::bigint[]) and ended_at is null
)
insert into bellhop.alert (subscription_id, bucket, property_id, condition, subject, detail, began_at, began_message)
select $1, property.bucket, property.property_id, began.condition, began.subject, began.detail, clock_timestamp(), $2
from json_to_recordset($3::json)
  as began (client_code text, property_code text, condition text, subject text, detail json)
join bellhop.property as property
  on property.client_code = began.client_code and property.property_code = began.property_code
on conflict do nothing
