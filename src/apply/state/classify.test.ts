import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  applyings,
  contractOf,
  type Ending,
  incomingOf,
  placeOf,
  type Received,
  receipts,
} from "../../../test/support/received-records.ts";
import { classify, type Decision, type KnownRecord, VersionsByTime } from "./classify.ts";
import type { RankedVersion } from "./record.ts";

const nameOf = (version: RankedVersion): string => `${version.sourceTime} ${version.contentHash}`;

/** What came of applying records in an order, and the stored rows as apply would have written them. */
interface Applied {
  readonly known: KnownRecord;
  readonly decisions: readonly Decision[];
  /** Number of the last change that each version was, by its name. */
  readonly changes: ReadonlyMap<string, number>;
  /** Names of the versions that hold typed facts of their own. */
  readonly factOwners: ReadonlySet<string>;
}

function applyAll(records: readonly Received[]): Applied {
  const known: KnownRecord = { current: null, versions: new VersionsByTime() };
  const changes = new Map<string, number>();
  const factOwners = new Set<string>();
  const decisions = records.map((record, at) => {
    const decision = classify(known, incomingOf(record));
    if (decision.outcome === "d") {
      if (decision.becameCurrent !== null) changes.set(nameOf(decision.becameCurrent), at);
      return decision;
    }
    if (decision.outcome === "a") changes.set(nameOf(decision.version), at);
    if (decision.ownFacts) factOwners.add(nameOf(decision.version));
    return decision;
  });
  return { known, decisions, changes, factOwners };
}

/** Versions with their receipts, and which is current: what must not depend on the order of applying. */
function stateOf({ known }: Applied): Ending {
  const described = (version: RankedVersion): string => `${nameOf(version)} @${placeOf(version)}`;
  return {
    versions: known.versions.all().map(described).sort(),
    current: known.current === null ? "" : described(known.current),
  };
}

const PARAMETERS = { numRuns: 5_000 };

test("the same records in any order of applying end in the same versions, receipts and current record", () => {
  fc.assert(
    fc.property(applyings, ({ received, applied }) => {
      assert.deepEqual(stateOf(applyAll(applied)), contractOf(received));
    }),
    PARAMETERS,
  );
});

test("records applied again, at any later time, are duplicates that change nothing", () => {
  fc.assert(
    fc.property(applyings, fc.array(fc.nat(), { maxLength: 8 }), ({ applied }, again) => {
      const once = applyAll(applied);
      const repeated = again.map((at) => applied[at % applied.length] as Received);
      const twice = applyAll([...applied, ...repeated]);
      assert.deepEqual(stateOf(twice), stateOf(once));
      assert.deepEqual(twice.changes, once.changes);
      for (const decision of twice.decisions.slice(applied.length))
        assert.deepEqual(decision, { outcome: "d", lowered: null, becameCurrent: null, newest: null });
    }),
    PARAMETERS,
  );
});

test("as many outcomes make a version as there are versions, and all others are duplicates", () => {
  fc.assert(
    fc.property(applyings, ({ received, applied }) => {
      const { decisions } = applyAll(applied);
      const made = decisions.filter(({ outcome }) => outcome !== "d");
      assert.equal(made.length, contractOf(received).versions.length);
    }),
    PARAMETERS,
  );
});

test("applied in the order of receipt, each record has the outcome that the contract names, and no receipt is lowered", () => {
  fc.assert(
    fc.property(receipts, (received) => {
      const { decisions } = applyAll(received);
      received.forEach((record, at) => {
        const before = received.slice(0, at);
        const isCopy = before.some(({ time, content }) => time === record.time && content === record.content);
        const current = contractOf(before).current;
        const { sourceTime, contentHash } = incomingOf(record);
        const isOlder = current !== "" && sourceTime < (current.split(" ")[0] as string);
        const isSame = contentHash === current.split(" ")[1];
        const outcome = isCopy ? "d" : isOlder ? "s" : isSame ? "u" : "a";
        const decision = decisions[at];
        assert.equal(decision?.outcome, outcome);
        if (decision?.outcome === "d") assert.equal(decision.lowered, null);
      });
    }),
    PARAMETERS,
  );
});

test("a receipt is lowered exactly when a copy that was received earlier is applied later", () => {
  fc.assert(
    fc.property(applyings, ({ applied }) => {
      const { decisions } = applyAll(applied);
      for (const [at, record] of applied.entries()) {
        const copies = applied
          .slice(0, at)
          .filter(({ time, content }) => time === record.time && content === record.content);
        const decision = decisions[at] as Decision;
        assert.equal(decision.outcome === "d", copies.length > 0);
        if (decision.outcome !== "d") continue;
        const isEarliest = copies.every(({ place }) => record.place < place);
        assert.equal(
          decision.lowered === null ? undefined : placeOf(decision.lowered),
          isEarliest ? record.place : undefined,
        );
      }
    }),
    PARAMETERS,
  );
});

test("the last numbered change is always the content that is current, so a feed that follows them ends there", () => {
  fc.assert(
    fc.property(applyings, ({ applied }) => {
      for (let count = 1; count <= applied.length; count += 1) {
        const { known, changes } = applyAll(applied.slice(0, count));
        const last = [...changes].reduce((left, right) => (right[1] > left[1] ? right : left));
        assert.equal(last[0].split(" ")[1], known.current?.contentHash);
      }
    }),
    PARAMETERS,
  );
});

test("every version refers to a version of the same content that stores the facts", () => {
  fc.assert(
    fc.property(applyings, ({ applied }) => {
      const { known, factOwners } = applyAll(applied);
      for (const version of known.versions.all())
        assert.ok(factOwners.has(`${version.factsSourceTime} ${version.contentHash}`), nameOf(version));
    }),
    PARAMETERS,
  );
});
