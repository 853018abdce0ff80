import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import type { LogWriterSession, OpenLogWriterSession } from "../../src/ingest/log/log-writer-session.ts";
import { logWriterSessions } from "../../src/ingest/log/log-writer-session.ts";
import { isoOfMicroseconds, microsecondsOf, RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import { settledReceipts, watermarkOf } from "../../src/insight/watermark.ts";
import { machineTime } from "../../src/platform/runtime/time.ts";
import { findProperty, type Property } from "../../src/query/property.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { holdKey } from "../support/held-appends.ts";
import { until, untilFound } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const receivedAt = (requestId: string) => isoOfMicroseconds(microsecondsOf(requestId));

describe("the watermark of a property", () => {
  let bench: ApplyBench;
  let property: Property;
  before(async () => {
    bench = await ApplyBench.open(1);
    bench.startApplier();
    await bench.acceptAndApply([reservation("R1", T1, "x")]);
    property = await untilFound(() => findProperty(bench.database.pool, "ACME", "LON01"));
  });
  after(() => bench.close());

  async function watermark(): Promise<string> {
    const settled = await settledReceipts(bench.database.pool, property);
    return (await watermarkOf(bench.database.pool, property, settled)) ?? "";
  }

  test("advances while nothing happens", async () => {
    const first = await watermark();
    await until(async () => (await watermark()) > first, 10_000);
  });

  test("stays below accepted batches until they are applied", async () => {
    await bench.stopApplier();
    const requestId = await bench.accept([reservation("R2", T1, "x")]);
    const start = await watermark();
    // Until what is promised lies above it.
    await until(async () => {
      const settled = await settledReceipts(bench.database.pool, property);
      return settled !== null && settled > requestId;
    }, 10_000);
    assert.ok((await watermark()) >= start);
    assert.ok((await watermark()) < receivedAt(requestId));
    bench.startApplier();
    await bench.outcomesOf(requestId);
    assert.ok((await watermark()) >= receivedAt(requestId));
  });

  test("stays where it is while an append that began before is under way", async () => {
    const held = submissionOf([reservation("R3", T1, "x")]);
    const log = await AcceptLog.open(bench.database.clientConfig, 1, {});
    const [of = assert.fail()] = held.records;
    const holder = await holdKey(bench.database.clientConfig, { clientId: held.clientId, key: "held", of });
    try {
      const accepted = log.append({ ...held, idempotency: { key: "held", fingerprint: "00" } });
      await until(() => holder.isWaiting(4_000), 20_000);
      const reported = await watermark();
      await holder.release();
      const { requestId } = await accepted;
      assert.ok(
        reported < receivedAt(requestId),
        `${reported} was reported before ${receivedAt(requestId)} appeared`,
      );
      await bench.outcomesOf(requestId);
      await until(async () => (await watermark()) > receivedAt(requestId), 10_000);
    } finally {
      await log.close();
    }
  });

  test("stays below ids that were assigned long before their append reached the database", async () => {
    const late = Promise.withResolvers<void>();
    const sent: string[][] = [];
    const openSession: OpenLogWriterSession = async (lost) => {
      const session = await logWriterSessions(bench.database.clientConfig)(lost);
      const append: LogWriterSession["append"] = async (logWriterId, stamped) => {
        sent.push(stamped.map(({ requestId }) => requestId));
        await late.promise;
        return session.append(logWriterId, stamped);
      };
      return Object.assign(Object.create(session) as LogWriterSession, {
        append,
        beginRegistration: () => session.beginRegistration(),
        register: () => session.register(),
        commit: () => session.commit(),
        close: () => session.close(),
        makePartitions: (atMs: number) => session.makePartitions(atMs),
        readHeldKeys: (wanted: Parameters<LogWriterSession["readHeldKeys"]>[0]) =>
          session.readHeldKeys(wanted),
        readClosedTimestamp: () => session.readClosedTimestamp(),
      });
    };
    const ground = { openSession, time: machineTime };
    const log = await AcceptLog.openOn(ground, 1, {}, new RequestIdStamp());
    try {
      const accepted = log.append(submissionOf([reservation("R4", T1, "x")]));
      await until(() => sent.length === 1, 10_000);
      const [taken = ""] = sent[0] ?? [];
      await until(async () => (await watermark()) > receivedAt(taken), 10_000);
      const reported = await watermark();
      late.resolve();
      const { requestId } = await accepted;
      assert.equal(sent.length, 2);
      assert.ok(requestId > taken);
      assert.ok(
        receivedAt(requestId) > reported,
        `${reported} was reported before ${receivedAt(requestId)} appeared`,
      );
    } finally {
      await log.close();
    }
  });
});
