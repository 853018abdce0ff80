-- Of the $4 audit entries before $3, newest first, from $9 to $10: those of a client ($1), of an actor ($2; a name that ends in a colon
-- is every actor of that kind) and of what has $8 in its name (null: any), and the last entry read, so that a page ends after a bounded scan. $5 to $7: a scope's keys, clients and operators (null:
-- everything). An entry is within the scope if its client, codes and operator are, or else its actor; not if it is of an operator who had
-- the name before.
select "auditId", "occurredAt", who, role, what, "clientId",
  (select name from bellhop.client where client_id = "clientId") as "clientName", detail, matches, examined::integer as examined
from (
  select page.*, row_number() over (order by number desc) as place, count(*) over () as examined,
    ($2::text is null or who = $2 or right($2, 1) = ':' and starts_with(who, $2))
    and ($8::text is null or position($8 in what) > 0)
    and ($9::timestamptz is null or "occurredAt" >= $9) and ($10::timestamptz is null or "occurredAt" <= $10) and ($5::text[] is null or (
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
      -- Ids and times have one order, but for moments; what is read is bounded by ids.
      and audit_id > coalesce(
        (select audit_id from bellhop.audit_entry where occurred_at < $9::timestamptz order by occurred_at desc limit 1), -1
      )
      and ($10::timestamptz is null or audit_id < coalesce(
        (select audit_id from bellhop.audit_entry where occurred_at > $10::timestamptz order by occurred_at limit 1), $3::bigint
      ))
    order by audit_id desc
    limit $4
  ) as page
) as looked_at
where matches or place = examined
order by place
