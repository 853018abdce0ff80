import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Stalls } from "./sharing.ts";

describe("patience with silent sessions", () => {
  const stalled = (...lateMs: readonly number[]): Stalls => {
    const stalls = new Stalls();
    lateMs.forEach((late, at) => {
      stalls.note(late, at * 1_000);
    });
    return stalls;
  };

  it("is what it is at least where this thread is hardly ever late, or was stopped once or twice", () => {
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
