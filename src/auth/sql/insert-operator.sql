insert into bellhop.operator (name, password_hash) values ($1, $2)
on conflict (name) do nothing
