import assert from "node:assert/strict";
import { test } from "node:test";
import { runRealFeed } from "../real-feed/run-real-feed.ts";

// `npm run campaign -- real-feed` is the whole of it: all bookings, 50 instants.
test("real bookings in order of time, and in any other order: the insights match the data to the cent", async () => {
  const { problems, questions, rows } = await runRealFeed({
    seed: 20_150_701,
    bookings: 800,
    instants: 6,
    batchRecords: 150,
  });
  assert.deepEqual(problems, []);
  assert.ok(questions > 100 && rows > 5_000, `${questions} answers with ${rows} rows`);
});
