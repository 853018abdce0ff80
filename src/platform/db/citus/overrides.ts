import { composeText } from "../statement.ts";

const file = (name: string): readonly [string] => [
  composeText(new URL(`./${name}.sql`, import.meta.url), {}),
];

/** What stands on Citus for the statement of a name, with the same parameters and columns, and why. */
export const OVERRIDES: Readonly<Record<string, readonly string[]>> = {
  // A lookup for each part is not sent to workers, a join is. The second mention of the buckets names the shards to ask.
  "read-parts": [
    `select part.place::integer, log.layout, case when octet_length(log.body) <= $3::integer then log.body end as body
    from unnest($1::smallint[], $2::uuid[]) with ordinality as part (bucket, request_id, place)
    join bellhop.accept_log as log on log.request_id = part.request_id and log.bucket = part.bucket
    where log.kind in ('b', 'c') and log.bucket = any ($1::smallint[]) and log.request_id = any ($2::uuid[])`,
  ],
  // As read-parts.
  "read-chunks": [
    `select
      case when chunk.layout_hash is null or sha256(log.layout) = chunk.layout_hash
        then substring(log.body from chunk.from_byte + 1 for chunk.bytes) end as stored
    from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::bytea[])
      with ordinality as chunk (bucket, request_id, from_byte, bytes, layout_hash, place)
    join bellhop.accept_log as log on log.request_id = chunk.request_id and log.bucket = chunk.bucket
    where log.kind in ('b', 'c') and log.bucket = any ($1::smallint[]) and log.request_id = any ($2::uuid[])
    order by chunk.place`,
  ],
  // One join of all requests, which each worker makes of its buckets, in the place of a lookup for each request.
  "read-request-summaries": file("read-request-summaries"),
  // One scan on each worker in the place of a lookup for each bucket.
  "read-change-ends": [
    `select bucket, (max(next_change) - 1)::float8 as last_change
    from bellhop.change_counter
    where bucket = any ($1::smallint[])
    group by bucket`,
  ],
  // What a session began may go on at a worker when the session is gone, until its log writer is closed. Of a worker's own sessions
  // that worker is asked (bucket-closed-timestamp.ts).
  "find-appending": [
    `select log_writer.log_writer_id::text as log_writer_id,
      case when writer.pid is null then null else coalesce(writer.xact_start::text, 'unknown') end as transaction
    from bellhop.log_writer as log_writer
    left join pg_stat_activity as writer
      on writer.pid = log_writer.backend_pid and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
    where log_writer.closed_at is null and log_writer.node = 0
      and (writer.pid is null or writer.xact_start is not null or writer.backend_start is null)`,
  ],
  // Rows of several buckets are not locked by one statement.
  "delete-expired-keys": [
    "delete from bellhop.idempotency_key where created_at < statement_timestamp() - interval '25 hours'",
  ],
  // A bucket's holder is a session of its worker.
  "count-unowned-buckets": [
    `select count(*)::integer as unowned from bellhop.bucket_lease as lease
    where not bellhop.is_session(lease.backend_pid, lease.backend_start)`,
  ],
  // A row of a worker is not looked up for each row of the coordinator.
  "survey-feeds": file("survey-feeds"),
  // Triggers are those of shards, and so are statistics.
  "find-noting": [
    `select distinct noted.logicalrelid::regclass::text as name
    from run_command_on_workers(format(
      'select coalesce(json_agg(substring(tgrelid::regclass::text from ''[0-9]+$'')), ''[]'') from pg_trigger where tgname = %L', $3::text
    )) as answer
    cross join lateral json_array_elements_text(answer.result::json) as shard (id)
    join pg_dist_shard as noted on noted.shardid = shard.id::bigint
    join pg_inherits as child on child.inhrelid = noted.logicalrelid
    where answer.success and child.inhparent = format('%I.%I', $1::text, $2::text)::regclass`,
  ],
  "estimate-rows": [
    `select coalesce(sum(result::float8), 0) as count
    from run_command_on_shards($1::regclass, 'select pg_stat_get_live_tuples(''%s''::regclass)') where success`,
  ],
  "read-table-sizes": [
    `select (
      select coalesce(sum(
        case when placed.logicalrelid is null then pg_table_size(relation.oid) else citus_table_size(relation.oid) end
      ), 0)
      from pg_class as relation left join pg_dist_partition as placed on placed.logicalrelid = relation.oid
      where relation.relkind = 'r'
        and relation.oid in (select named.name::regclass union select relid from pg_partition_tree(named.name::regclass))
    )::bigint as bytes
    from unnest($1::text[]) with ordinality as named (name, place) order by named.place`,
  ],
  // The sizes of the coordinator and its workers together.
  "survey-sizes": [
    `select
      (
        select sum(result::float8)
        from run_command_on_all_nodes('select pg_database_size(current_database())')
      ) as database_bytes,
      count(partition.inhrelid)::integer as log_partitions,
      coalesce(sum(citus_total_relation_size(partition.inhrelid)), 0)::float8 as log_bytes
    from pg_inherits as partition
    where partition.inhparent = 'bellhop.accept_log'::regclass`,
  ],
};
