import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { OpenPages } from "./open-pages.ts";

const responseOf = () =>
  Object.assign(new EventEmitter(), { closed: false }) as unknown as ServerResponse & { closed: boolean };

test("sends four pages of a client at once; further ones wait until one was read or its client disconnects", async () => {
  const pages = new OpenPages();
  const [first, ...others] = Array.from({ length: 4 }, responseOf);
  for (const response of [first, ...others] as ServerResponse[]) await pages.enter("a", response);
  let entered = 0;
  const waiting = [responseOf(), responseOf()].map((response) =>
    pages.enter("a", response).then(() => {
      entered += 1;
    }),
  );
  // Another client's is not kept waiting by them.
  await pages.enter("b", responseOf());
  await new Promise(setImmediate);
  assert.equal(entered, 0);
  first?.emit("close");
  await waiting[0];
  assert.equal(entered, 1);
  const gone = responseOf();
  gone.closed = true;
  const late = pages.enter("a", gone);
  for (const response of others) response.emit("close");
  await Promise.all([waiting[1], late]);
});

test("requests beyond the queue get 429 with Retry-After", async () => {
  const pages = new OpenPages();
  const all = Array.from({ length: 205 }, () => pages.enter("a", responseOf()));
  await assert.rejects(all[204] as Promise<void>, { status: 429, retryAfterSeconds: 1 });
  await Promise.all(all.slice(0, 4));
});
