-- Of the $4 audit entries before $3, newest first: those of a client ($1) and of whoever's name begins so ($2; null: any), and
-- the last one looked at, so that a page ends after a bounded number whether or not any matched.
select "auditId", "occurredAt", who, what, "clientId", detail, matches, examined::integer as examined
from (
  select page.*, ($2::text is null or starts_with(page.who, $2)) as matches,
    row_number() over (order by number desc) as place, count(*) over () as examined
  from (
    select audit_id as number, audit_id::text as "auditId", occurred_at as "occurredAt", who, what, client_id as "clientId",
      detail
    from bellhop.audit_entry
    where audit_id < $3::bigint and ($1::text is null or client_id = $1)
    order by audit_id desc
    limit $4
  ) as page
) as looked_at
where matches or place = examined
order by place
