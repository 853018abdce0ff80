import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import { registerMetricsRoute } from "./metrics-route.ts";

test("requests at once share a reading of the process, which begins after they were made", async () => {
  let readings = 0;
  const processMetrics = async () => {
    readings += 1;
    const reading = readings;
    await new Promise(setImmediate);
    return `reading ${reading}`;
  };
  const app = fastify();
  registerMetricsRoute(app, { processMetrics }, undefined);
  const ask = async () => (await app.inject("/metrics")).body;
  const answers = await Promise.all(Array.from({ length: 50 }, ask));
  assert.ok(readings <= 2, `${readings} readings`);
  assert.deepEqual([...new Set(answers)].sort(), ["reading 1", "reading 2"].slice(0, readings));
  const before = readings;
  assert.equal(await ask(), `reading ${before + 1}`);
  await app.close();
});

test("a failed reading fails those who share it, and not the next", async () => {
  let fails = true;
  const processMetrics = async () => (fails ? assert.fail("no answer") : "read");
  const app = fastify();
  registerMetricsRoute(app, { processMetrics }, undefined);
  assert.equal((await app.inject("/metrics")).statusCode, 500);
  fails = false;
  assert.equal((await app.inject("/metrics")).body, "read");
  await app.close();
});
