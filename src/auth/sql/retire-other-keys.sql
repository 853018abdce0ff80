-- Every key but the new one ($1) goes once the new one has signed long enough ($2 seconds) for its tokens to be dead.
update bellhop.signing_key old
set remove_at = least(
  coalesce(old.remove_at, 'infinity'),
  (select activate_at from bellhop.signing_key where kid = $1) + make_interval(secs => $2)
)
where kid <> $1 and (old.remove_at is null or old.remove_at > clock_timestamp())
returning kid
