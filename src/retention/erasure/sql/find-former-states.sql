-- States that swaps of a replay have put aside, each a schema of its own (src/apply/replay.ts).
select quote_ident(nspname) as name from pg_namespace
where nspname ~ '^bellhop_replay_[a-z0-9]+_former$' and to_regclass(quote_ident(nspname) || '.current_record') is not null
order by nspname
