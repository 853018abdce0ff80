import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { reservationRecord } from "../../test/support/records.ts";
import { turnsDuring } from "../../test/support/turns-during.ts";
import { BodyLayout } from "./log/body-layout.ts";
import { entriesOf } from "./log/log-entry.ts";
import { RedactionList, redactBatch } from "./redact.ts";

test("a batch of which something is redacted is not copied: only the records that change have bytes of their own", async () => {
  const redactions = new RedactionList({
    version: "1",
    subjects: [],
    settings: [{ name: "personalData", clientCode: "ACME", propertyCode: "LON01", value: "strip" }],
    list_key: "00",
    names_key: "00",
  });
  const profiles = [{ id: "P-1", name: "Berta Bussard", profileType: "GUEST" }];
  const texts = ["LON01", "PAR01"].map((propertyCode) =>
    JSON.stringify(reservationRecord({ propertyCode, profiles })),
  );
  const body = Buffer.from(`[${texts.join(",")}]`);
  const records = texts.map((text, index) => {
    const start = body.indexOf(text);
    const propertyCode = index === 0 ? "LON01" : "PAR01";
    return { index, start, end: start + text.length, clientCode: "ACME", propertyCode };
  });
  const batch = { body, records, rejected: [] };
  const kept = await redactBatch("reservations", batch, redactions);
  assert.equal(kept.body, body);
  assert.equal(kept.records[1], records[1]);
  const submission = {
    clientId: "C",
    resource: "r",
    lenient: false,
    correlationId: null,
    replyTo: null,
  } as const;
  const { entries } = await entriesOf({ ...submission, ...kept, idempotency: null });
  const stored = entries.flatMap(({ layout, body: packed }) => {
    assert.ok(layout !== null && packed !== null);
    return [...new BodyLayout(layout).allRecords(packed)];
  });
  const first = stored.find(({ index }) => index === 0)?.bytes.toString() ?? "";
  assert.match(first, /"id":"P-1","name":"hash:[\w-]{22}"/);
  assert.equal(stored.find(({ index }) => index === 1)?.bytes.toString(), texts[1]);
});

test("the names and ids of a record with very many profiles are hashed in many turns of the event loop", async () => {
  const PROFILES = 20_000;
  const row = {
    version: "1",
    subjects: [],
    settings: [{ name: "personalData", clientCode: "ACME", propertyCode: null, value: "strip" }],
    list_key: "00",
    names_key: "00",
  } as const;
  const erased = {
    clientCode: "ACME",
    propertyCode: null,
    resource: "r",
    key: null,
    profile: "00".repeat(32),
  };
  const profiles = Array.from({ length: PROFILES }, (_, at) => ({ id: `P-${at}`, name: `N-${at}` }));
  const record = reservationRecord({ clientCode: "ACME", propertyCode: "LON01", profiles });
  const bytes = Buffer.from(JSON.stringify(record));
  const identity = { resource: "reservations", clientCode: "ACME", propertyCode: "LON01" } as const;
  const slice = { index: 0, start: 0, end: bytes.length, clientCode: "ACME", propertyCode: "LON01" };
  for (const subjects of [[], [JSON.stringify(erased)]]) {
    const redactions = new RedactionList({ ...row, subjects });
    const batch = { body: bytes, records: [slice], rejected: [] };
    const { turns, result } = await turnsDuring(() => redactBatch("reservations", batch, redactions));
    assert.ok(turns >= ((1 + subjects.length) * PROFILES) / 500 - 2, String(turns));
    const redacted = (result.records[0] as { bytes?: Buffer }).bytes;
    assert.deepEqual(
      redacted,
      redactions.redacted({ ...identity, key: String(record["reservationId"]) }, bytes),
    );
  }
});

test("the properties that rejected records name are not remembered", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const redactions = new RedactionList({
    version: "1",
    subjects: [],
    settings: [{ name: "personalData", clientCode: "OTHER", propertyCode: null, value: "strip" }],
    list_key: "00",
    names_key: "00",
  });
  const reject = (properties: number) => {
    for (let n = 0; n < properties; n += 1) {
      const record = { clientCode: "ACME", propertyCode: `${n}`.padEnd(200, "Ж") };
      redactions.redactedRejected("reservations", Buffer.from(JSON.stringify(record)));
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = reject(1_000);
  const kept = reject(40_000) - before;
  assert.ok(kept < 4_000_000, `${kept} bytes are kept`);
});
