-- Notes events of certifications, as long as fewer than $2 of their kind are kept: beyond it by at most one statement's.
insert into bellhop.certification_event (certification_id, kind, noted_at, detail)
select event.certification_id, event.kind, to_timestamp(event.at_ms / 1000), event.detail
from json_to_recordset($1::json) as event (certification_id uuid, kind text, at_ms float8, detail json)
join bellhop.certification using (certification_id)
where (
  select count(*) from bellhop.certification_event as kept
  where kept.certification_id = event.certification_id and kept.kind = event.kind
) < $2::integer
