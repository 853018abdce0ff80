-- Asked at most twice a second by each thread, but for keys that are unknown to it. The clock comes with it: tokens are dated by
-- the database's clock alone.
select epoch::text as epoch, extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs" from bellhop.auth_epoch
