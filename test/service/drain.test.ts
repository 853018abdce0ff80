import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { findServer } from "../../src/platform/db/embedded/postmaster.ts";
import { type Batch, BatchSource } from "../faults/batch-source.ts";
import { checkLog } from "../faults/check-log.ts";
import { untilApplied } from "../faults/check-sessions.ts";
import { clusterOf, withDatabaseOf } from "../faults/database-of-service.ts";
import { Ledger } from "../faults/ledger.ts";
import { newToken } from "../faults/new-token.ts";
import { Senders } from "../faults/senders.ts";
import { ServiceProcess } from "../faults/service-process.ts";
import { RawConnection } from "../support/raw-http.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

describe("SIGTERM under load", () => {
  let service: ServiceProcess;
  let token: string;
  const source = new BatchSource(1);
  const ledger = new Ledger();
  before(async () => {
    service = await ServiceProcess.prepare();
    service.start();
    await service.untilReady(60_000);
    token = await newToken(service);
  });
  after(() => service.remove());

  /** A request that the service is in the middle of receiving, and how to send the rest of it. */
  async function beginBatch(batch: Batch): Promise<{ connection: RawConnection; finish: () => void }> {
    const body = `[${batch.records.join(",")}]`;
    const connection = await RawConnection.open(service.address);
    connection.write(
      `POST /api/public/v1/${batch.resource} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    await until(() => connection.received.toString().startsWith("HTTP/1.1 100 "), 10_000);
    return { connection, finish: () => connection.write(body) };
  }

  const takesConnections = async () => {
    const connection = await RawConnection.open(service.address).catch(() => undefined);
    connection?.destroy();
    return connection !== undefined;
  };

  test("requests in flight are answered, the exit code is 0, and every 202 is stored once after the next start", async () => {
    const { address } = service;
    const senders = new Senders({ route: () => ({ address }), token, source, ledger, seed: 1, senders: 4 });
    await until(() => ledger.acceptedRequests > 20, 30_000);
    const batch = source.next();
    const sent = ledger.sending(batch);
    const { connection, finish } = await beginBatch(batch);
    const sentAt = performance.now();
    const ended = service.end("SIGTERM");
    await until(async () => !(await takesConnections()), 10_000);
    finish();
    const answer = await connection.answer();
    assert.equal(answer.status, 202, answer.body.toString());
    const { requestId } = JSON.parse(answer.body.toString()) as { requestId: string };
    ledger.accepted(sent, { requestId, sentAt, answeredAt: performance.now() });
    await connection.closing();
    assert.equal(await ended, 0);
    service.start();
    await service.untilReady(60_000);
    await senders.stop();
    const { problems } = await withDatabaseOf(service.dataDir, async (pool) => {
      await untilApplied(pool, 60_000);
      return await checkLog(pool, ledger);
    });
    assert.deepEqual([...ledger.problems, ...problems], []);
    assert.equal(await service.end("SIGTERM"), 0);
  });
});

describe("a service in production", () => {
  const GRACE_MS = 3_000;
  let service: ServiceProcess;
  let crash: string;
  before(async () => {
    crash = join(await temporaryDirectory("crash"), "now");
    const module = new URL("../faults/crash-thread.ts", import.meta.url);
    module.search = String(new URLSearchParams({ thread: "main", file: crash }));
    service = await ServiceProcess.prepare({
      imports: [module.href],
      environment: { STOP_GRACE_MS: String(GRACE_MS), HTTP_THREADS: "1" },
    });
  });
  beforeEach(async () => {
    service.start();
    await service.untilReady(60_000);
  });
  after(() => service.remove());

  const status = async () => (await fetch(`${service.address}/readyz`)).status;
  const isListening = async () => (await status().catch(() => undefined)) !== undefined;

  test("counts simultaneous signals, as a terminal and the launcher send them, as one", async () => {
    const beganAt = performance.now();
    service.signal("SIGINT");
    assert.equal(await service.end("SIGTERM"), 0);
    assert.ok(performance.now() - beganAt >= GRACE_MS);
  });

  test("stops at once on a second signal", async () => {
    const beganAt = performance.now();
    service.signal("SIGTERM");
    await until(async () => performance.now() - beganAt > 600 && (await status()) === 503, 10_000);
    service.signal("SIGTERM");
    // Not until its end, as stopping PostgreSQL takes seconds on a busy machine.
    await until(async () => !(await isListening()), 10_000);
    assert.ok(performance.now() - beganAt < GRACE_MS);
    assert.equal(await service.ended(), 0);
  });

  test("stops in order after an uncaught error on its main thread, and logs it without quoted values", async () => {
    await writeFile(crash, "");
    assert.equal(await service.ended(), 1);
    await rm(crash);
    const log = await readFile(service.logPath, "utf8");
    assert.match(log, /"level":60.*a planted crash.*a failure: stopping/);
    assert.doesNotMatch(log, /A. Guest/);
    assert.equal(await findServer(await clusterOf(service.dataDir)), undefined);
  });
});
