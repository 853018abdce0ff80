select password_hash as "passwordHash", disabled_at is not null as disabled from bellhop.operator where name = $1
