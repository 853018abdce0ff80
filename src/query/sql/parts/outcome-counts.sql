-- Record counts of a part `log` by its `outcome`, and of its later releases and discards that match `of`.
cross join lateral (
  select
    coalesce(length(outcome.outcomes) - length(replace(outcome.outcomes, 'a', '')), 0) as applied,
    coalesce(length(outcome.outcomes) - length(replace(outcome.outcomes, 'u', '')), 0) as unchanged,
    coalesce(length(outcome.outcomes) - length(replace(outcome.outcomes, 's', '')), 0) as stale,
    coalesce(length(outcome.outcomes) - length(replace(outcome.outcomes, 'd', '')), 0) as duplicate,
    coalesce(length(outcome.outcomes) - length(replace(outcome.outcomes, 'q', '')), 0) as quarantined
) as letters
left join lateral (
  select
    count(*) as all,
    count(*) filter (where quarantine.outcome = 'a') as applied,
    count(*) filter (where quarantine.outcome = 'u') as unchanged,
    count(*) filter (where quarantine.outcome = 's') as stale,
    count(*) filter (where quarantine.outcome = 'd') as duplicate,
    count(*) filter (where quarantine.outcome = 'x') as discarded
  from bellhop.quarantine
  where quarantine.bucket = log.bucket and quarantine.request_id = log.request_id and {of}
) as resolved on letters.quarantined > 0
