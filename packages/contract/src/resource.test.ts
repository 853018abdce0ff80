import assert from "node:assert/strict";
import test from "node:test";
import { letterOf, RESOURCES, resourceOf } from "./resource.ts";

test("each resource has a letter of its own, and the letter gives it back", () => {
  assert.deepEqual(RESOURCES.map(letterOf), ["i", "r", "g"]);
  assert.deepEqual(RESOURCES.map(letterOf).map(resourceOf), RESOURCES);
});
