import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BellhopError } from "./error.ts";
import { delayAfter, RETRY_DEFAULTS, retryAfterMs } from "./http.ts";

const error = (retryAfter?: number) =>
  new BellhopError("not now", { exception: "http.503", retryable: true, retryAfterMs: retryAfter });

describe("how long is waited before the same again", () => {
  test("waits as long as the service asked, plus at most a moment, regardless of the attempt", () => {
    for (const chance of [0, 0.5, 0.999]) {
      const delayMs = delayAfter(error(2_000), 9, RETRY_DEFAULTS, () => chance);
      assert.ok(delayMs >= 2_000 && delayMs < 2_250, String(delayMs));
    }
  });

  test("without Retry-After, a pause doubles up to its limit, half of it random", () => {
    const least = [1, 2, 3, 20, 1_000].map((attempt) =>
      delayAfter(error(), attempt, RETRY_DEFAULTS, () => 0),
    );
    assert.deepEqual(least, [125, 250, 500, 15_000, 15_000]);
    const most = [1, 2, 3, 20].map((attempt) => delayAfter(error(), attempt, RETRY_DEFAULTS, () => 1));
    assert.deepEqual(most, [250, 500, 1_000, 30_000]);
  });
});

describe("Retry-After", () => {
  const DATE = "Wed, 21 Oct 2026 07:28:00 GMT";
  const read = (retryAfter: string, date?: string) =>
    retryAfterMs(
      new Headers({ "retry-after": retryAfter, ...(date === undefined ? {} : { date }) }),
      () => Date.parse(DATE) - 5_000,
    );

  test("is seconds, or a date by the clock of the server", () => {
    assert.equal(read("0"), 0);
    assert.equal(read("120"), 120_000);
    assert.equal(read(DATE), 5_000);
    assert.equal(read(DATE, "Wed, 21 Oct 2026 07:27:58 GMT"), 2_000);
    assert.equal(read(DATE, "Wed, 21 Oct 2026 09:00:00 GMT"), 0);
  });

  test("is nothing where it is neither", () => {
    for (const text of ["", "soon", "-1", "1.5", "9999999999"]) assert.equal(read(text), undefined, text);
  });
});
