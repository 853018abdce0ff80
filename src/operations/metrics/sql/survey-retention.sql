-- How far back everything is known of each kind that something was taken out of: of whom it is known longest.
select kind, extract(epoch from clock_timestamp() - min(known_from))::float8 as kept_seconds
from bellhop.retention_horizon group by kind
