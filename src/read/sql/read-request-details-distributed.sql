-- As read-request-details, of one bucket ($3), on the worker that has it.
select
  detail.record_index,
  detail.code, detail.message, detail.warnings, detail.violations, detail.violation_total,
  held.outcome, held.resolved_at
from bellhop.accept_log as log
left join bellhop.request_outcome as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
cross join lateral (
  select
    record.key::integer as record_index, record.value ->> 'code' as code, record.value ->> 'message' as message,
    record.value -> 'warnings' as warnings, null::json as violations, null::integer as violation_total
  from json_each(outcome.details) as record
  where record.key::integer = any ($4::integer[])
  union all
  select
    (rejection ->> 'index')::integer, null, null, null, rejection -> 'violations',
    (rejection ->> 'violationTotal')::integer
  from json_array_elements(log.rejections) as rejection
  where (rejection ->> 'index')::integer = any ($4::integer[])
) as detail
left join bellhop.quarantine as held
  on held.bucket = log.bucket and held.request_id = log.request_id and held.record_index = detail.record_index
where log.request_id = $2 and log.client_id = $1 and log.kind = 'b' and log.bucket = $3::smallint
