import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { progressBar, progressLine } from "./progress-bar.ts";
import type { SendProgress } from "./report.ts";

const progress = (changes: Partial<SendProgress> = {}): SendProgress => ({
  records: 5_000,
  accepted: 4_000,
  rejected: 0,
  pending: 0,
  batches: 8,
  retries: 0,
  elapsedMs: 2_000,
  waiting: undefined,
  ...changes,
});

describe("the progress of a send", () => {
  test("in one line: amount, rate, remaining time if known, and the reason for waiting", () => {
    assert.equal(progressLine(progress()), "4,000 accepted  2,000/s");
    assert.match(
      progressLine(progress(), { total: 16_000 }),
      /^█{6}░{18} 25 % {2}4,000 accepted {2}2,000\/s {2}6 s left$/,
    );
    assert.match(progressLine(progress(), { share: () => 0.5 }), /^█{12}░{12} 50 % .* 2 s left$/);
    assert.equal(progressLine(progress({ pending: 1_500 })), "4,000 accepted  1,500 being applied  2,000/s");
    const waiting = { reason: "rate limit exceeded", ms: 90_000 };
    const line = progressLine(progress({ rejected: 3, waiting }));
    assert.match(line, /3 rejected .*waits 1 min 30 s: rate limit exceeded$/);
  });

  test("is drawn on a terminal, within its width and not at every step, and nowhere else", () => {
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    const draw = progressBar({ isTTY: true, columns: 30, write });
    for (const elapsedMs of [1_000, 1_010, 1_020, 1_200])
      draw(progress({ elapsedMs, waiting: { reason: "x".repeat(99), ms: 5_000 } }));
    assert.equal(written.length, 2);
    for (const text of written) {
      assert.ok(text.startsWith("\r\u001b[2K"));
      assert.equal(text.slice("\r\u001b[2K".length).length, 29);
    }
    progressBar({ write })(progress());
    assert.equal(written.length, 2);
  });
});
