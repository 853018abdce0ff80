import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { ServiceError } from "../../src/platform/errors/registry.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { isOnCitus } from "../support/database.ts";
import { untilFound } from "../support/until.ts";

const MOVES = ["block_writes", "force_logical", "block_writes"] as const;

interface Place {
  readonly shard: string;
  readonly buckets: readonly number[];
  readonly host: string;
  readonly port: number;
}

function propertyIn(buckets: readonly number[]): string {
  for (let number = 0; ; number += 1)
    if (buckets.includes(bucketOf("ACME", `HOTEL${number}`))) return `HOTEL${number}`;
}

test("batches sent while their shard is moved are accepted, or refused for a second, and applied once", async (t) => {
  if (!(await isOnCitus())) return t.skip("Only Citus has workers.");
  const bench = await ApplyBench.open(2);
  const placeOf = async (shard?: string): Promise<Place> => {
    const [place] = await bench.rows<Place>(
      `select home.shardid::text as shard, json_agg(bucket) as buckets, home.nodename as host, home.nodeport as port
      from generate_series(0, 63) as bucket
      join pg_dist_shard_placement as home
        on home.shardid = get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint)
      where $1::bigint is null or home.shardid = $1
      group by home.shardid, home.nodename, home.nodeport order by home.shardid limit 1`,
      [shard],
    );
    return place as Place;
  };
  let isMoving = true;
  try {
    bench.startApplier();
    const { shard, buckets } = await placeOf();
    const moving = propertyIn(buckets);
    const staying = propertyIn(
      Array.from({ length: 64 }, (_, bucket) => bucket).filter((bucket) => !buckets.includes(bucket)),
    );
    const accepted: string[] = [];
    /** As a client does it: what is refused is sent again a little later. */
    const sent = async (id: string, number: number, propertyCode: string): Promise<string> => {
      const at = new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
      return untilFound(
        () =>
          bench.accept([reservation(id, at, `${number}`, propertyCode)]).catch((error) => {
            assert.ok(error instanceof ServiceError, String(error));
            assert.equal(error.code, "bellhop.accept.Unavailable");
            return undefined;
          }),
        60_000,
      );
    };
    // A key of its own each: parts of two log writers may be applied in another order than they were received in.
    const send = async (propertyCode: string): Promise<void> => {
      for (let number = 0; isMoving; number += 1)
        accepted.push(await sent(`R${number}`, number, propertyCode));
    };
    const sending = [moving, staying].map(send);
    for (const [move, mode] of MOVES.entries()) {
      const from = await placeOf(shard);
      const [to] = await bench.rows<{ host: string; port: number }>(
        `select nodename as host, nodeport as port from pg_dist_node
        where shouldhaveshards and noderole = 'primary' and nodeport <> $1 limit 1`,
        [from.port],
      );
      if (to === undefined) return t.skip("A shard moves where there is a second worker.");
      await bench.rows(
        "select citus_move_shard_placement($1, $2, $3, $4, $5, $6::citus.shard_transfer_mode)",
        [shard, from.host, from.port, to.host, to.port, mode],
      );
      await bench.rows("call citus_cleanup_orphaned_resources()");
      // It is applied where it lies now.
      assert.equal(await bench.outcomesOf(await sent(`after ${move}`, 0, moving)), "a");
    }
    isMoving = false;
    await Promise.all(sending);
    for (const requestId of accepted) assert.equal(await bench.outcomesOf(requestId), "a");
    const [written] = await bench.rows<{ parts: number; outcomes: number }>(
      `select (select count(*)::integer from bellhop.accept_log where request_id = any ($1::uuid[])) as parts,
        (select count(*)::integer from bellhop.request_outcome where request_id = any ($1::uuid[])) as outcomes`,
      [accepted],
    );
    assert.deepEqual(written, { parts: accepted.length, outcomes: accepted.length });
    const doubled = await bench.rows(
      "select from bellhop.accept_log group by request_id having count(*) > 1",
    );
    assert.equal(doubled.length, 0);
  } finally {
    isMoving = false;
    await bench.close();
  }
});
