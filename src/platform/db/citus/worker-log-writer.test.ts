import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../../../test/support/database.ts";
import type { ShardGroup, ShardMap } from "./shard-groups.ts";
import { WorkerLogWriter } from "./worker-log-writer.ts";

test("a flush of two shard groups whose session is lost fails with the server's last error", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const client = new pg.Client(database.clientConfig);
  client.on("error", () => undefined);
  await client.connect();
  const groupOf = (bucket: number): ShardGroup => ({
    id: String(bucket),
    newest: String(bucket),
    buckets: [bucket],
    shards: {},
  });
  const worker = { node: 1, host: "localhost", port: 5432, groups: [1, 2].map(groupOf) };
  const [one, two] = worker.groups;
  const map = { placeOf: (bucket: number) => ({ worker, group: bucket === 1 ? one : two }) };
  const writer = new WorkerLogWriter(client, {
    worker,
    map: map as unknown as ShardMap,
    appendEntries: {
      name: "lose-session",
      text: "select pg_terminate_backend(pg_backend_pid()), $1::text, $2::bytea, $3::text",
    } as never,
  });
  const items = [{ requestId: "1", append: { idempotency: null, entries: [{ bucket: 1 }, { bucket: 2 }] } }];
  await assert.rejects(
    writer.append(items, () => ["", Buffer.alloc(0)]),
    { code: "57P01" },
  );
});
