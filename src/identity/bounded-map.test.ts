import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

describe("a bounded map", () => {
  it("pushes out the entry used longest ago, and never holds more than its capacity", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    assert.equal(map.get("a"), 1);
    map.set("c", 3);
    assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [1, undefined, 3]);
    for (let index = 0; index < 100; index += 1) map.set(String(index), index);
    assert.deepEqual(
      Array.from({ length: 100 }, (_, index) => map.get(String(index))).filter(
        (value) => value !== undefined,
      ),
      [98, 99],
    );
  });

  it("replaces an entry without pushing out another", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("b", 3);
    assert.deepEqual([map.get("a"), map.get("b")], [1, 3]);
  });

  it("pushes out entries until the sum of the weights fits, and keeps none that is too heavy alone", () => {
    const map = new BoundedMap<string, number>(10, { most: 10, of: (weight) => weight });
    map.set("a", 4);
    map.set("b", 4);
    map.set("b", 5);
    map.set("c", 1);
    assert.deepEqual([map.get("a"), map.get("b"), map.get("c")], [4, 5, 1]);
    map.set("d", 5);
    assert.deepEqual([map.get("a"), map.get("b"), map.get("c"), map.get("d")], [undefined, undefined, 1, 5]);
    map.delete("d");
    map.set("e", 9);
    assert.deepEqual([map.get("c"), map.get("e")], [1, 9]);
    map.set("f", 11);
    assert.equal(map.get("f"), undefined);
  });
});
