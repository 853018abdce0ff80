import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonOf } from "./partner-client.ts";

test("the reason of a wait does not advise what the command does itself", () => {
  for (const [message, reason] of [
    [
      "The database cannot be reached now. Send the same request again later.",
      "The database cannot be reached now.",
    ],
    ["The service is starting.", "The service is starting."],
    [
      "Bodies are too small. Send it again in larger chunks.",
      "Bodies are too small. Send it again in larger chunks.",
    ],
  ] as const)
    assert.equal(reasonOf(message), reason);
});
