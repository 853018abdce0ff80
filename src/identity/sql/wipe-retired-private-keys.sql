-- A key whose successor has been active for a minute signs no more: its private part has no use but to be stolen.
update bellhop.signing_key old
set private_key = null
where old.private_key is not null
  and exists (
    select from bellhop.signing_key newer
    where newer.activate_at > old.activate_at and newer.activate_at < clock_timestamp() - interval '1 minute'
  )
