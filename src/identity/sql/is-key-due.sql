-- Why the signing key is to be replaced. Its age: no key that is to stay (announced or active) was made within the last $1 days (0:
-- never). Where keys are encrypted now ($2), that one which is to stay lies readable: copies of it are in dead rows, in the
-- write-ahead log and in backups.
select
  $1::integer > 0 and not exists (
    select from bellhop.signing_key
    where remove_at is null and created_at > clock_timestamp() - make_interval(days => $1)
  ) as "isOld",
  $2::boolean and exists (
    select from bellhop.signing_key where remove_at is null and private_key like 'plain:%'
  ) as "isReadable"
