-- The key of another installation, where nothing is listed under this one's.
update bellhop.instance set value = $1
where name = 'privacy.list' and not exists (select from bellhop.erasure_subject where profile_digest is not null)
