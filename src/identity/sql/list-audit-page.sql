-- Reads $4 audit entries before $3, newest first, from $9 to $10. Returns the matches and the last one read, so that a scan is bounded.
-- Filters (null: any): client $1; actor $2 (a trailing colon matches every actor of that kind); $8 is part of the action name.
-- $5 to $7: the keys, clients and operators of a scope (null: everything). An entry is in scope if its client, codes and operator are;
-- if it names none, if its actor is. Entries of an earlier operator of the same name are out of scope.
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
      -- Ids and times are in the same order except for short overlaps; the scan is bounded by id.
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
