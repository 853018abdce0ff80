-- Erasures, those that an hour has not finished, and those that have come since the list was exported.
select count(*)::integer as all,
  (count(*) filter (where finished_at is null and started_at < clock_timestamp() - interval '1 hour'))::integer as unfinished,
  (count(*) filter (where started_at > coalesce(exported.at, '-infinity')))::integer as unexported
from bellhop.erasure
cross join (
  select max(occurred_at) as at from bellhop.audit_entry where what = 'export-erasures'
) as exported
