-- $2: disabled from now on, or able again.
update bellhop.operator
set disabled_at = case when $2 then coalesce(disabled_at, clock_timestamp()) end
where name = $1
