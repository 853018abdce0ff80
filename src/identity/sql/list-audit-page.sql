-- Of the $4 audit entries before $3, newest first: those of a client ($1) and of actors whose name begins with $2 (null: any),
-- and the last entry read, so that a page ends after a bounded scan. $5 to $7: a scope's keys, clients and operators (null:
-- everything). An entry is within the scope if its client, codes and operator are, or else its actor; not if it is of an operator who had
-- the name before.
select "auditId", "occurredAt", who, role, what, "clientId", detail, matches, examined::integer as examined
from (
  select page.*, row_number() over (order by number desc) as place, count(*) over () as examined,
    ($2::text is null or starts_with(who, $2)) and ($5::text[] is null or (
      coalesce(code, subject, "clientId") is not null
      and coalesce("clientId" = any ($6::text[]), true)
      and coalesce(
        subject = any ($7::text[])
          and "occurredAt" >= (select created_at from bellhop.operator where name = subject),
        true
      )
      and coalesce(code || E'\n*' = any ($5) or code || E'\n' || coalesce(detail ->> 'propertyCode', '*') = any ($5), true)
    )) as matches
  from (
    select audit_id as number, audit_id::text as "auditId", occurred_at as "occurredAt", who, role, what,
      client_id as "clientId", detail, detail ->> 'clientCode' as code,
      case
        when detail ->> 'operator' is not null then detail ->> 'operator'
        when client_id is null and detail ->> 'clientCode' is null then substring(who from '^console:(.*)$')
      end as subject
    from bellhop.audit_entry
    where audit_id < $3::bigint and ($1::text is null or client_id = $1)
    order by audit_id desc
    limit $4
  ) as page
) as looked_at
where matches or place = examined
order by place
