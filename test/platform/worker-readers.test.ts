import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { ALL_BUCKETS, bucketOf } from "../../src/ingest/log/part-name.ts";
import { WorkerReaders } from "../../src/platform/db/citus/worker-readers.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { isOnCitus } from "../support/database.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";

function propertyIn(bucket: number): string {
  for (let number = 0; ; number += 1)
    if (bucketOf("ACME", `HOTEL${number}`) === bucket) return `HOTEL${number}`;
}

test("what waits is found by asking the workers themselves, also in a shard that has moved", async (t) => {
  if (!(await isOnCitus())) return t.skip("Only Citus has workers.");
  const bench = await ApplyBench.open();
  const client = await bench.database.pool.connect();
  const readers = new WorkerReaders();
  try {
    // Two buckets of one shard, and where that could go.
    const [home] = await bench.rows<{ shard: string; buckets: number[]; move: string }>(
      `select shard.shardid::text as shard, shard.buckets,
        format('select citus_move_shard_placement(%s, %L, %s, %L, %s, ''block_writes'')',
          shard.shardid, home.nodename, home.nodeport, other.nodename, other.nodeport) as move
      from (
        select get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint) as shardid,
          array_agg(bucket order by bucket) as buckets
        from generate_series(0, 63) as bucket group by 1
      ) as shard
      join pg_dist_shard_placement as home using (shardid)
      join pg_dist_node as other on other.shouldhaveshards and other.nodeport <> home.nodeport
      where cardinality(shard.buckets) > 1
      order by shard.shardid
      limit 1`,
    );
    if (home === undefined) return t.skip("A shard moves where there is a second worker.");
    const [early = assert.fail(), late = assert.fail()] = home.buckets;
    await bench.accept([reservation("E", T1, "x", propertyIn(early))]);
    const [entry] = await bench.rows<{ id: string }>(
      "select log_writer_id::text as id from bellhop.accept_log limit 1",
    );
    const values = [ALL_BUCKETS, [entry?.id], [false], 10_000];
    assert.deepEqual(await readers.find(client, values), [early]);

    await client.query(home.move);
    await bench.accept([reservation("L", T1, "x", propertyIn(late))]);
    await until(async () => {
      const found = (await readers.find(client, values)) ?? [];
      return found.join() === [early, late].join();
    }, 20_000);

    const { database } = client as unknown as pg.Client;
    const stranger = { user: "stranger", database, query: (asked: pg.QueryConfig) => client.query(asked) };
    assert.equal(await new WorkerReaders().find(stranger as unknown as pg.ClientBase, values), undefined);
  } finally {
    client.release(true);
    await bench.close();
  }
});
