import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { ArrivingBodies } from "./arriving-bodies.ts";

class Sent {
  readonly body = { progress: 0, held: 0 };
  isEnded = false;
  complete = false;
  readonly request = this as unknown as IncomingMessage;
}

test("a body has to progress by 1 KiB, and by a share of what it holds, in each period", (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setImmediate"] });
  const arriving = new ArrivingBodies(1_000, (request) => {
    (request as unknown as Sent).isEnded = true;
  });
  const names = ["stalled", "slow", "steady", "greedy", "complete", "announced"] as const;
  const sent = Object.fromEntries(names.map((name) => [name, new Sent()])) as Record<
    (typeof names)[number],
    Sent
  >;
  const rates = { stalled: 0, slow: 1_000, steady: 2_000, greedy: 2_000, complete: 0, announced: 0 };
  sent.greedy.body.held = 100_000;
  sent.complete.complete = true;
  for (const name of names) {
    if (name !== "announced") sent[name].body.progress = 10;
    arriving.watch(sent[name].request, sent[name].body);
  }
  const pass = () => {
    t.mock.timers.tick(1_000);
    t.mock.timers.tick(0);
    for (const name of names) sent[name].body.progress += rates[name];
  };
  pass();
  assert.deepEqual(
    names.filter((name) => sent[name].isEnded),
    [],
  );
  for (let period = 0; period < 3; period += 1) pass();
  const ended = names.filter((name) => sent[name].isEnded);
  assert.deepEqual(ended, ["stalled", "slow", "greedy"]);
});
