import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { passOver } from "./pass-over.ts";

const PIECE_BYTES = 65_536;

/** The rest of a refused request that has come already, in pieces as a socket gives them. */
function arrived(pieces: number): IncomingMessage & { readonly given: () => number } {
  let given = 0;
  const stream = new Readable({
    read() {
      given += 1;
      this.push(given > pieces ? null : Buffer.allocUnsafeSlow(PIECE_BYTES));
    },
  });
  return Object.assign(stream, { complete: false, given: () => given }) as never;
}

describe("what still arrives of refused requests", () => {
  test("is dropped at once where it is small", async () => {
    const small = arrived(4);
    let pauses = 0;
    small.on("pause", () => {
      pauses += 1;
    });
    passOver(small);
    await new Promise((resolve) => small.once("end", resolve));
    assert.equal(pauses, 0);
  });

  test("takes turns where it is large, and comes to its end all the same", async () => {
    const large = Array.from({ length: 4 }, () => arrived(30));
    const ends = large.map((request) => new Promise((resolve) => request.once("end", resolve)));
    const paused = new Set<IncomingMessage>();
    for (const request of large) request.on("pause", () => paused.add(request));
    for (const request of large) passOver(request);
    await Promise.all(ends);
    // All that they have was there already: without turns none would have waited.
    assert.equal(paused.size, large.length);
  });

  test("does not hold up the others when one that waits is gone", async () => {
    const [gone, stays] = [arrived(40), arrived(40)];
    const end = new Promise((resolve) => stays.once("end", resolve));
    passOver(gone);
    passOver(stays);
    gone.destroy();
    await end;
  });
});
