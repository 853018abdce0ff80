import assert from "node:assert/strict";
import test from "node:test";
import { letterOf, RESOURCES, resourceOf } from "./resource.ts";

test("each resource has its own letter, which maps back to it", () => {
  assert.deepEqual(RESOURCES.map(letterOf), ["i", "r", "g"]);
  assert.deepEqual(RESOURCES.map(letterOf).map(resourceOf), RESOURCES);
});
