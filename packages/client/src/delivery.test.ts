import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAULT_MS, FAULTS_IN_A_ROW_MAX, FaultWatch } from "./delivery.ts";

describe("a batch that is answered 500", () => {
  test("is tried as long as anything while nothing else is accepted, and briefly once something was", () => {
    const watch = new FaultWatch();
    watch.accepted(1);
    assert.equal(watch.patienceMs(2), Number.POSITIVE_INFINITY);
    watch.accepted(3);
    assert.equal(watch.patienceMs(2), FAULT_MS);
  });

  test("is retried only briefly after another was given up, until a batch is accepted", () => {
    const watch = new FaultWatch();
    assert.ok(watch.giveUp(1));
    assert.equal(watch.patienceMs(2), FAULT_MS);
    watch.accepted(3);
    assert.equal(watch.patienceMs(4), Number.POSITIVE_INFINITY);
  });

  test("ends it all with others before it, unless others were accepted while it was tried", () => {
    const watch = new FaultWatch();
    watch.accepted(10);
    for (let count = 0; count < 3 * FAULTS_IN_A_ROW_MAX; count += 1) assert.ok(watch.giveUp(9));
    for (let count = 1; count < FAULTS_IN_A_ROW_MAX; count += 1) assert.ok(watch.giveUp(11));
    assert.ok(!watch.giveUp(12));
  });
});
