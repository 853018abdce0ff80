import assert from "node:assert/strict";
import { test } from "node:test";
import { rangesOf } from "./statement.ts";

test("dates that follow each other are one range, across months and years", () => {
  assert.deepEqual(rangesOf([]), []);
  assert.deepEqual(
    rangesOf(["2024-02-28", "2024-02-29", "2024-03-01", "2024-12-31", "2025-01-01", "2025-06-01"]),
    [
      { from: "2024-02-28", to: "2024-03-01" },
      { from: "2024-12-31", to: "2025-01-01" },
      { from: "2025-06-01", to: "2025-06-01" },
    ],
  );
});
