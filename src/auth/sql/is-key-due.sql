-- Whether no key that is to stay (announced or active) was made within the last $1 days.
select not exists (
  select from bellhop.signing_key
  where remove_at is null and created_at > clock_timestamp() - make_interval(days => $1)
) as "isDue"
