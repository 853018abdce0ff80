-- The first $11 matches among the $4 audit entries before $3, newest first, from $9 to $10; in each row, and in one alone if there are none,
-- how many entries were examined and the last of them, so that a scan is bounded. It ends at the last match wanted.
-- Filters (null: any): client $1; actor $2 (a trailing colon matches every actor of that kind); $8 is part of the action name.
-- $5 to $7: the keys, clients and operators of a scope (null: everything). An entry is in scope if its client, codes and operator are;
-- if it names none, if its actor is. Entries of an earlier operator of the same name are out of scope.
with examined as (
  select count(*)::integer as entries, max(audit_id) as first, min(audit_id) as last
  from (
    select audit_id
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
),
matching as (
  select entry.audit_id, entry.occurred_at, entry.who, entry.role, entry.what, entry.client_id, entry.detail
  from bellhop.audit_entry as entry
  cross join lateral json_to_record(entry.detail) as named (operator text, "clientCode" text, "propertyCode" text)
  cross join lateral (
    select case
      when named.operator is not null then named.operator
      when entry.client_id is null and named."clientCode" is null then substring(entry.who from '^console:(.*)$')
    end as subject
  ) as about
  where entry.audit_id between (select last from examined) and (select first from examined)
    and ($1::text is null or entry.client_id = $1)
    and ($2::text is null or entry.who = $2 or right($2, 1) = ':' and starts_with(entry.who, $2))
    and ($8::text is null or position($8 in entry.what) > 0)
    and ($9::timestamptz is null or entry.occurred_at >= $9) and ($10::timestamptz is null or entry.occurred_at <= $10)
    and ($5::text[] is null or (
      coalesce(named."clientCode", subject, entry.client_id) is not null
      and coalesce(entry.client_id = any ($6::text[]), true)
      and coalesce(
        subject = any ($7::text[])
          and entry.occurred_at >= (select created_at from bellhop.operator where name = subject),
        true
      )
      and coalesce(
        named."clientCode" || E'\n*' = any ($5)
          or named."clientCode" || E'\n' || coalesce(named."propertyCode", '*') = any ($5),
        true
      )
    ))
  order by entry.audit_id desc
  limit $11
)
select matching.audit_id::text as "auditId", matching.occurred_at as "occurredAt", matching.who, matching.role, matching.what,
  matching.client_id as "clientId", (select name from bellhop.client where client_id = matching.client_id) as "clientName", matching.detail,
  examined.entries as examined, examined.last::text as last
from examined left join matching on true
order by matching.audit_id desc
