-- The number of distinct records of resource $5 that backfill $2 in bucket $1 added as versions of property $3, with requests up to $4. A
-- version belongs to the first of equal copies. `incomplete`: the ids of the requests with more records applied than versions, 16 bytes each;
-- the keys of their copies, read from the log, are $6, as the first 8 bytes of SHA-256 each, because there may be millions. Records
-- quarantined as of $4 are not counted.
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
  (
    select count(*) from (
      select substring(sha256(convert_to(key, 'UTF8')) for 8) from (select distinct key from brought) as brought
      union
      select substring($6::bytea from 8 * place + 1 for 8) from generate_series(0, length($6::bytea) / 8 - 1) as copy (place)
    ) as known
  )::integer as keys,
  (
    select coalesce(string_agg(uuid_send(batch.request_id), ''::bytea order by batch.request_id), '')
    from batch
    left join (select request_id, count(*) as versions from brought group by request_id) as has using (request_id)
    where batch.applied > coalesce(has.versions, 0)
  ) as incomplete
