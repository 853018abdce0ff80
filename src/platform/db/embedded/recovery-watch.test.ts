import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryDirectory } from "../../../../test/support/test-server.ts";
import { RecoveryWatch } from "./recovery-watch.ts";

test("a server that refuses sessions without a startup process is stalled after 7 s", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const watch = new RecoveryWatch(await temporaryDirectory("no-server"));
  const samples: string[] = [];
  for (; now <= 7_000; now += 500) samples.push(await watch.sample());
  assert.deepEqual(samples, ["works", ...new Array(13).fill("idle"), "stalled"]);
});
