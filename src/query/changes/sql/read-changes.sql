-- The next changes of the buckets $1, numbered above $2 and up to $3, at most $4 each, in order, of the properties $5 and resources $6
-- (letters). Change numbers are nearly dense, so $2 to $3 bounds the rows read however few match.
-- Unnamed, so that it is planned each time: a plan prepared for small tables would scan them in full. Properties are a subplan, hashed
-- once; `= any` would compare each with every row.
-- Plan: per bucket a merge of three index scans of (bucket, change_no), each with a limit. 1,024 changes of 64 buckets with 400,000: 6 ms
-- (plus 2 for planning); 20,000 scanned for 41 of one property: 57 ms.
select
  looked.bucket,
  change.resource, change.change_no::float8 as "changeNumber", change.property_id as "propertyId", change.key,
  to_char(change.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime",
  change.request_id as "requestId", change.record_index as "index", coalesce(change.is_update, false) as "isUpdate"
from unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::integer[]) as looked (bucket, behind, until, most)
cross join lateral (
  {parts/changes of inventory}
  union all
  {parts/changes of reservation}
  union all
  {parts/changes of group}
  order by change_no
  limit looked.most
) as change
order by looked.bucket, change.change_no
