select kid,
  case
    when remove_at <= clock_timestamp() then 'removed'
    when activate_at > clock_timestamp() then 'announced'
    when remove_at is null then 'active'
    when exists (
      select from bellhop.signing_key newer
      where newer.activate_at <= clock_timestamp() and newer.activate_at > signing_key.activate_at
    ) then 'retiring'
    else 'active'
  end as state,
  created_at as "createdAt",
  activate_at as "activateAt",
  remove_at as "removeAt",
  case when private_key is null then 'wiped' when private_key like 'plain:%' then 'readable' else 'encrypted' end as "privatePart"
from bellhop.signing_key
order by signing_key.activate_at desc, kid
