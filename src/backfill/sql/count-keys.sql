-- How many different records the backfill $2 in the bucket $1 has brought to the versions of the property $3, of the resource $5, with
-- requests up to $4. A version is of the first of its copies; `incomplete` are the requests with more records applied than they
-- have versions: the keys of the others, looked up in the log, are $6. What is quarantined as of $4 is not applied yet.
with batch as materialized (
  select log.request_id, length(outcome.outcomes) - (
      select count(*) from bellhop.quarantine
      where quarantine.bucket = $1::smallint and quarantine.request_id = log.request_id
        and (quarantine.state <> 'r' or quarantine.resolved_by > $4::uuid)
    ) as applied
  from bellhop.accept_log as log
  join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = log.request_id
  where log.bucket = $1::smallint and log.backfill_id = $2::uuid and log.resource = $5::"char" and log.request_id <= $4::uuid
),
brought as materialized (
  select version.key, version.request_id
  from {versions} as version
  join batch on batch.request_id = version.request_id
  where version.bucket = $1::smallint and version.property_id = $3
    and {parts/not-quarantined of $4}
)
select
  (select count(*) from (select key from brought union select key from unnest($6::text[]) as copy (key)) as known)::integer as keys,
  (
    select coalesce(array_agg(batch.request_id::text order by batch.request_id), '{}')
    from batch
    left join (select request_id, count(*) as versions from brought group by request_id) as has using (request_id)
    where batch.applied > coalesce(has.versions, 0)
  ) as incomplete
