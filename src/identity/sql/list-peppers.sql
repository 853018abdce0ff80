select coalesce(substring(name from 'auth\.pepper\.([0-9]+)'), '1')::integer as number, value
from bellhop.instance
where name = 'auth.pepper' or name ~ '^auth\.pepper\.[0-9]+$'
