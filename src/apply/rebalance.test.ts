import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { EventLoopDelays, fairShare, UnresponsiveSessions, type WaitingSession } from "./rebalance.ts";

test("all buckets are shared out, evenly to within one, however many appliers and buckets there are", () => {
  for (const buckets of [64, 33, 1])
    for (let count = 1; count <= 100; count += 1) {
      const present = Array.from({ length: count }, (_, at) => `applier ${at}`);
      const shares = present.map((me) => fairShare(buckets, present, me));
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        buckets,
      );
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
    }
});

test("an applier that is not listed counts as one more", () => {
  assert.equal(fairShare(64, [], "me"), 64);
  assert.equal(fairShare(64, ["a"], "me"), 32);
  assert.equal(fairShare(64, ["a", "b"], "me"), 21);
});

const session = (overrides: Partial<WaitingSession> = {}): WaitingSession => ({
  pid: 7,
  spoke: "10:00:00",
  owner: "other",
  idle: false,
  silent_seconds: 4,
  ...overrides,
});

describe("sessions that wait for their client", () => {
  it("are unresponsive at once between two statements, unless they wait for the client", () => {
    const sessions = [session({ idle: true })];
    assert.deepEqual(new UnresponsiveSessions().find(sessions, 3_000, 0), sessions);
  });

  it("are not unresponsive before the time limit", () => {
    assert.deepEqual(new UnresponsiveSessions().find([session({ idle: true })], 5_000, 0), []);
  });

  it("are unresponsive in the middle of a statement only when every view for most of that time has found them so", () => {
    const silent = new UnresponsiveSessions();
    assert.deepEqual(silent.find([session({ silent_seconds: 2 })], 3_000, 0), []);
    assert.deepEqual(silent.find([session({ silent_seconds: 2.9 })], 3_000, 2_000), []);
    assert.deepEqual(silent.find([session()], 3_000, 3_000), [session()]);
    const late = new UnresponsiveSessions();
    assert.deepEqual(late.find([session()], 3_000, 0), []);
    assert.deepEqual(late.find([session()], 3_000, 1_900), []);
    assert.deepEqual(late.find([session()], 3_000, 2_000), [session()]);
  });

  it("start over when a view finds them working, or in another statement", () => {
    const silent = new UnresponsiveSessions();
    silent.find([session()], 3_000, 0);
    silent.find([], 3_000, 1_000);
    assert.deepEqual(silent.find([session()], 3_000, 2_500), []);
    assert.deepEqual(silent.find([session({ spoke: "10:00:04" })], 3_000, 4_600), []);
    assert.deepEqual(silent.find([session({ spoke: "10:00:04", pid: 8 })], 3_000, 6_700), []);
  });
});

describe("patience with unresponsive sessions", () => {
  const stalled = (...lateMs: readonly number[]): EventLoopDelays => {
    const delays = new EventLoopDelays();
    lateMs.forEach((late, at) => {
      delays.note(late, at * 1_000);
    });
    return delays;
  };

  it("is the minimum unless this thread is regularly late", () => {
    assert.equal(stalled().patienceMs(3_000, 0), 3_000);
    assert.equal(stalled(10_000, 20_000).patienceMs(3_000, 2_000), 3_000);
    assert.equal(stalled(400, 400, 400, 400, 400, 400).patienceMs(3_000, 6_000), 3_000);
  });

  it("is twice the usual stall on a machine where this thread stalls itself, within bounds", () => {
    assert.equal(stalled(2_000, 2_500, 9_000, 2_000, 3_000).patienceMs(3_000, 5_000), 4_000);
    const hopeless = stalled(...Array<number>(200).fill(50_000));
    assert.equal(hopeless.patienceMs(3_000, 200_000), 30_000);
  });

  it("forgets stalls after a minute", () => {
    assert.equal(stalled(4_000, 4_000, 4_000, 4_000, 4_000).patienceMs(3_000, 60_001), 3_000);
  });
});
