-- The first to come decides; everybody reads what stands afterwards.
insert into bellhop.instance (name, value) values ($1, $2) on conflict (name) do nothing
