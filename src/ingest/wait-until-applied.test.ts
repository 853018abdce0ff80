import assert from "node:assert/strict";
import { test } from "node:test";
import { type FastifyRequest, fastify } from "fastify";
import { createWait } from "./wait-until-applied.ts";

const asking = (prefer: string, destroyed = false) =>
  ({ headers: { prefer }, raw: { socket: { destroyed } } }) as unknown as FastifyRequest;

test("a drain ends every wait at once, and lets none begin", async (context) => {
  // Time stands still: nothing but the drain can end a pause.
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const app = fastify();
  const wait = createWait(app);
  let asked = 0;
  const isDone = async () => {
    asked += 1;
    return false;
  };
  const waits = [wait(asking("wait=10"), isDone), wait(asking("wait=10"), isDone)];
  await new Promise(setImmediate);
  assert.equal(asked, 2);
  await app.close();
  assert.deepEqual(await Promise.all(waits), ["wait=10", "wait=10"]);
  assert.equal(await wait(asking("wait=10"), isDone), "wait=10");
  assert.equal(asked, 2);
});

test("a wait lasts at most 10 seconds, and ends when the client disconnects", async () => {
  const wait = createWait(fastify());
  const isDone = async () => true;
  assert.equal(await wait(asking("wait=3600"), isDone), "wait=10");
  assert.equal(await wait(asking("wait=9", true), () => assert.fail("nobody asks")), "wait=9");
});

test("one client has at most fifty waiting requests, whatever other clients do", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const app = fastify();
  const wait = createWait(app);
  let asked = 0;
  const ask = (clientId: string) =>
    wait({ ...asking("wait=10"), principal: { clientId } } as FastifyRequest, async () => {
      asked += 1;
      return false;
    });
  const waits = Array.from({ length: 50 }, () => ask("a"));
  assert.equal(await ask("a"), "wait=10");
  assert.equal(asked, 50);
  waits.push(ask("b"));
  assert.equal(asked, 51);
  await new Promise(setImmediate);
  await app.close();
  await Promise.all(waits);
});

test("without the preference nothing is waited for", async () => {
  const wait = createWait(fastify());
  assert.equal(await wait(asking("handling=lenient"), () => assert.fail("nobody asks")), null);
});
