import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { applyIsolatingBadRecords } from "../../src/apply/isolate-bad-records.ts";
import type { ApplicableRecord } from "../../src/apply/record.ts";
import { UnstorableFact } from "../../src/contract/facts-text.ts";
import { readRecord } from "../../src/contract/read-record.ts";
import { loadCurrent } from "../../src/state/load-versions.ts";
import { openStateSession, planByKeys } from "../../src/state/state-session.ts";
import { writeCurrent } from "../../src/state/write-current.ts";
import { reservation } from "../support/apply-bench.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const REQUEST = "019a0000-0000-7000-8000-000000000001";

function applicable(key: string, index: number, content = "x", sourceTime = "2026-01-01T00:00:01.000000Z") {
  const reading = readRecord(
    "reservations",
    Buffer.from(JSON.stringify(reservation(key, sourceTime, content))),
  );
  const { status, fromDate, toDate, roomTypeCodes, facts, warnings, clientCode } = reading;
  const contentHash = reading.contentHash;
  const incoming = { sourceTime, contentHash, requestId: REQUEST, index, status, fromDate, toDate };
  const of = { bucket: 7, propertyId: 1, resource: "r", key } as const;
  return { clientCode, of, incoming, facts, roomTypeCodes, warnings } satisfies ApplicableRecord;
}

describe("what apply writes", () => {
  let database: TestDatabase;
  let client: pg.Client;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    await client.connect();
    await openStateSession(client, "bellhop_state");
    await planByKeys(client, true);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });
  const apply = async (records: readonly ApplicableRecord[]): Promise<string> => {
    await client.query("begin");
    const letters = await applyIsolatingBadRecords(client, records, () => 1);
    await client.query("commit");
    return letters.join("");
  };

  test("leaves out a record whose facts no view could read, and no other", async () => {
    const bad = {
      ...applicable("BAD", 2),
      facts: () => {
        throw new UnstorableFact("planted");
      },
    };
    assert.equal(await apply([applicable("A", 0), applicable("B", 1), bad, applicable("C", 3)]), "aaqa");
    const { rows } = await client.query(
      "select key, channel from analytics.stored_reservation_version order by key",
    );
    assert.deepEqual(
      rows,
      ["A", "B", "C"].map((key) => ({ key, channel: "x" })),
    );
  });

  test("is one statement's work for more rows than one COPY carries, new, changed, unchanged and repeated", async () => {
    const keys = Array.from({ length: 4_000 }, (_, n) => `many ${n}, "quoted" \\ é`);
    const large = "c".repeat(400);
    assert.equal(await apply(keys.map((key, at) => applicable(key, at, large))), "a".repeat(keys.length));
    const later = "2026-01-01T00:00:02.000000Z";
    const second = keys.map((key, at) => applicable(key, at, at % 2 === 0 ? large : "other", later));
    assert.equal(await apply(second), "ua".repeat(keys.length / 2));
    assert.equal(await apply(second), "d".repeat(keys.length));
    const { rows } = await client.query(
      `select facts.channel = 'other' as changed, count(*)::integer as count, min(record.source_time)::text as least
      from bellhop_state.current_record as record join analytics.stored_reservation_version as facts
        on facts.key = record.key and facts.source_time = record.facts_source_time
        and facts.content_hash = record.content_hash
      where record.key like 'many%' group by 1 order by 1`,
    );
    assert.deepEqual(rows, [
      { changed: false, count: 2_000, least: "2026-01-01 00:00:02+00" },
      { changed: true, count: 2_000, least: "2026-01-01 00:00:02+00" },
    ]);
  });

  test("overwrites nothing that somebody else has written since it was looked up", async () => {
    const { of, incoming } = applicable("A", 0);
    const [before = null] = await loadCurrent(client, [of]);
    await database.pool.query("update bellhop_state.current_record set record_index = 9 where key = 'A'");
    const current = { ...incoming, factsSourceTime: incoming.sourceTime };
    await assert.rejects(writeCurrent(client, [{ of, current, before }]), { code: "40001" });
    await assert.rejects(writeCurrent(client, [{ of, current, before: null }]), { code: "23505" });
    const [after = null] = await loadCurrent(client, [of]);
    assert.equal(after?.version.index, 9);
  });
});
