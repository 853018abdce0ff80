import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { logPart as part } from "../../test/support/log-part.ts";
import { packBody } from "../ingest/log/body-layout.ts";
import type { LogPart } from "./backlog.ts";
import { isLargePart, PartsInTurn } from "./large-parts.ts";

/** Large ones have a capital for a name. */
const isLarge = ({ requestId }: LogPart) => requestId < "a";
const namesOf = (parts: readonly LogPart[]) => parts.map(({ requestId }) => requestId).join("");

describe("small parts", () => {
  it("go before the large ones of other buckets, which then come one by one, in turn with them", () => {
    const turns = new PartsInTurn(isLarge);
    assert.equal(
      namesOf(turns.choose([part(1, "A"), part(2, "b"), part(3, "C"), part(3, "d"), part(4, "e")])),
      "be",
    );
    assert.equal(namesOf(turns.choose([part(1, "A"), part(3, "C"), part(3, "d"), part(5, "f")])), "A");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(5, "f")])), "f");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(6, "g")])), "C");
    assert.equal(namesOf(turns.choose([part(3, "d"), part(6, "g")])), "dg");
  });

  it("that came before a large one in its bucket go before it whenever its turn is", () => {
    const turns = new PartsInTurn(isLarge);
    assert.equal(namesOf(turns.choose([part(1, "a"), part(1, "B"), part(1, "c"), part(2, "d")])), "ad");
    assert.equal(namesOf(turns.choose([part(2, "e"), part(1, "f"), part(1, "B"), part(1, "c")])), "fB");
  });

  it("that are not there have nobody wait: large ones are taken together", () => {
    const turns = new PartsInTurn(isLarge);
    for (let times = 0; times < 2; times += 1)
      assert.equal(namesOf(turns.choose([part(1, "A"), part(2, "B"), part(2, "c")])), "ABc");
  });
});

it("is large from 256 bookings that are to be applied, and no push of two years of inventory", () => {
  const of = (records: number) =>
    packBody(
      Buffer.from("{}"),
      Array.from({ length: records }, (_, index) => ({ index, start: 0, end: 2 })),
    );
  const rejectedIndexes = new Set([0]);
  assert.deepEqual(
    [
      of(255),
      of(256),
      { ...of(256), rejectedIndexes },
      { ...of(730), resource: "i" as const },
      { layout: null },
    ].map((more) => isLargePart({ ...part(1, "a"), ...more })),
    [false, true, false, false, false],
  );
});
