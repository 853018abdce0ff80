import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { ALL_BUCKETS, BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { Channel } from "./channel.ts";
import { SharedHints } from "./shared-memory.ts";

type Calls = {
  [name: string]: (argument: never) => unknown;
  double(value: number): number;
  fail(_: undefined): void;
  hang(_: undefined): Promise<void>;
};

describe("a channel between two threads", () => {
  let ports: MessagePort[] = [];
  afterEach(() => {
    for (const port of ports) port.close();
  });

  function connect(): Channel<Calls> {
    const { port1, port2 } = new MessageChannel();
    ports = [port1, port2];
    const own: Calls = {
      double: (value) => value * 2,
      fail: () => {
        throw Object.assign(new Error("taken", { cause: new Error("below") }), {
          code: "EADDRINUSE",
          port: 80,
        });
      },
      hang: () => new Promise(() => undefined),
    };
    new Channel(port2, own);
    return new Channel<Calls>(port1, {});
  }

  it("delivers responses to their callers in any order", async () => {
    const channel = connect();
    assert.deepEqual(await Promise.all([channel.call("double", 1), channel.call("double", 2)]), [2, 4]);
  });

  it("brings an error with its code and its cause", async () => {
    await assert.rejects(
      connect().call("fail", undefined),
      (error: Error & { code?: string; port?: number }) => {
        assert.deepEqual([error.message, error.code, error.port], ["taken", "EADDRINUSE", 80]);
        assert.equal((error.cause as Error).message, "below");
        return true;
      },
    );
  });

  it("fails when the response is late or the other side has ended", async () => {
    const channel = connect();
    await assert.rejects(channel.call("hang", undefined, 1), /hang received no response in time/);
    const waiting = channel.call("hang", undefined);
    channel.close(new Error("gone"));
    await assert.rejects(waiting, /gone/);
    await assert.rejects(channel.call("double", 1), /gone/);
  });
});

describe("hints of buckets", () => {
  it("reach a listener once however often they were sent, also one that starts later", async () => {
    const memory = SharedHints.allocate(BUCKET_COUNT, 2);
    const sender = new SharedHints(memory, BUCKET_COUNT);
    const even = ALL_BUCKETS.filter((bucket) => bucket % 2 === 0);
    sender.own(0, even);
    sender.own(
      1,
      ALL_BUCKETS.filter((bucket) => bucket % 2 === 1),
    );
    sender.notify([0, 31, 32, BUCKET_COUNT - 2, BUCKET_COUNT - 1]);
    sender.notify([32]);
    const stopping = new AbortController();
    const heard: (readonly number[])[] = [];
    const { port1, port2 } = new MessageChannel();
    // Nothing else holds the loop open while it is waited for memory to change.
    const listening = new SharedHints(memory, BUCKET_COUNT).listen(
      0,
      (buckets) => {
        heard.push(buckets);
        port2.postMessage("heard");
      },
      stopping.signal,
    );
    await once(port1, "message");
    sender.notify([7]);
    sender.notify([6]);
    await once(port1, "message");
    stopping.abort();
    sender.wakeListeners();
    await listening;
    port1.close();
    assert.deepEqual(heard, [[0, 32, BUCKET_COUNT - 2], [6]]);
    const others: (readonly number[])[] = [];
    const second = new AbortController();
    await new SharedHints(memory, BUCKET_COUNT).listen(
      1,
      (buckets) => {
        others.push(buckets);
        second.abort();
        sender.wakeListeners();
      },
      second.signal,
    );
    assert.deepEqual(others, [[7, 31, BUCKET_COUNT - 1]]);
  });

  it("deliver an offer to the claimed idle thread, whatever it reports before it learns of the claim", async () => {
    const memory = SharedHints.allocate(BUCKET_COUNT, 2);
    const hints = new SharedHints(memory, BUCKET_COUNT);
    const [busy, idle] = [hints.siblingsOf(0), hints.siblingsOf(1)];
    assert.equal(busy.claimIdle(), undefined, "nobody is idle");
    idle.setIdle(true);
    assert.equal(idle.claimIdle(), undefined, "it does not claim itself");
    const offer = busy.claimIdle();
    assert.equal(busy.claimIdle(), undefined, "it is claimed already");
    offer?.();
    idle.setIdle(true);
    idle.setIdle(false);
    const heard: boolean[] = [];
    const stopping = new AbortController();
    const hear = (_: readonly number[], isOffered: boolean) => {
      heard.push(isOffered);
      stopping.abort();
      hints.wakeListeners();
    };
    await new SharedHints(memory, BUCKET_COUNT).listen(1, hear, stopping.signal);
    assert.deepEqual(heard, [true]);
  });
});
