-- Reasons, warnings and violations of the records $4 (indexes) in the buckets $3 of one request.
-- Plan: per part (at most 64) one scan of its details and rejections, and quarantine's primary key.
select
  detail.record_index as "index", detail.code, detail.message, detail.warnings, detail.violations,
  detail.violation_total as "violationTotal", quarantine.outcome, quarantine.resolved_at as "resolvedAt"
from bellhop.accept_log as t
left join bellhop.request_outcome as outcome on outcome.bucket = t.bucket and outcome.request_id = t.request_id
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
  from json_array_elements(t.rejections) as rejection
  where (rejection ->> 'index')::integer = any ($4::integer[])
) as detail
left join bellhop.quarantine
  on quarantine.bucket = t.bucket and quarantine.request_id = t.request_id and quarantine.record_index = detail.record_index
where t.request_id = $2 and t.client_id = $1 and t.kind = 'b' and t.bucket = any ($3::smallint[]) {and-bucket}
