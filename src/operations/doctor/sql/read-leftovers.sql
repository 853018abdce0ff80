-- Backfills open for more than $1 days, schemas of replays with their size, and the sandbox client.
select
  (
    select count(*)::integer from bellhop.backfill
    where state = 'o' and opened_at < clock_timestamp() - make_interval(days => $1)
  ) as "openBackfills",
  (
    select coalesce(json_agg(json_build_object('schema', space.nspname, 'bytes', size.bytes) order by space.nspname), '[]')
    from pg_namespace as space
    cross join lateral (
      select coalesce(sum(pg_total_relation_size(relation.oid)), 0)::float8 as bytes
      from pg_class as relation where relation.relnamespace = space.oid and relation.relkind = 'r'
    ) as size
    where space.nspname like 'bellhop\_replay\_%'
  ) as schemas,
  (
    select count(*)::integer from bellhop.client
    join bellhop.client_grant using (client_id)
    where client.name = 'sandbox' and client_grant.client_code = $2 and client.revoked_at is null
  ) as sandboxes
