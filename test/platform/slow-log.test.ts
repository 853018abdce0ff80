import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { holdAppends } from "../support/held-appends.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";

const SLOW_MS = 100;
const WAIT_MS_MAX = 60_000;
const APPENDS = "append-entries";

interface SlowLine {
  readonly msg: string;
  readonly httpRequestId?: string;
  readonly route?: string;
  readonly statement?: string;
  readonly ms?: number;
  readonly waited?: string;
  readonly waits?: Readonly<Record<string, number>>;
}

describe("slow requests and statements are reported with their waits", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ slowRequestMs: SLOW_MS, slowQueryMs: SLOW_MS });
    assert.equal((await service.post("inventories", [inventoryRecord()])).status, 202);
  });
  after(() => service.stop());

  const reported = (): SlowLine[] =>
    service
      .logLines()
      .flatMap((line) => (line.includes('"msg":"slow') ? [JSON.parse(line) as SlowLine] : []));

  const slowRequest = (headers: Headers) =>
    untilFound(
      async () => reported().find(({ httpRequestId }) => httpRequestId === headers.get("x-request-id")),
      WAIT_MS_MAX,
    );

  /** Holds a table until a statement whose file begins so has waited for it longer than is slow. */
  async function holdUp<Result>(
    table: string,
    statement: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const holder = await service.pool.connect();
    try {
      await holder.query(
        `begin; set local idle_in_transaction_session_timeout = 0; lock table ${table} in access exclusive mode`,
      );
      const working = work();
      await until(async () => {
        // Not within the holder's transaction: that sees the sessions as they were when it looked first.
        const { rows } = await service.pool.query<{ late: boolean }>(
          `select clock_timestamp() - query_start > '${2 * SLOW_MS} milliseconds' as late
           from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
          [statement],
        );
        return rows.some(({ late }) => late);
      }, WAIT_MS_MAX);
      await holder.query("commit");
      return await working;
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  }

  test("a batch that waits for its commit: the flush, and the statement that appends", async () => {
    const held = await holdAppends(service.database.clientConfig);
    const posting = service.post("inventories", [inventoryRecord()]);
    await until(() => held.isWaiting(2 * SLOW_MS), WAIT_MS_MAX);
    await held.release();
    const { headers, status } = await posting;
    assert.equal(status, 202);
    const { waits, route } = await slowRequest(headers);
    assert.equal(route, "/api/public/v1/inventories");
    assert.ok((waits?.["flush"] ?? 0) >= SLOW_MS, JSON.stringify(waits));
    assert.ok(reported().some(({ statement }) => statement === APPENDS));
  });

  test("a question that waits for the database, and the statement it waits for", async () => {
    const { headers, status } = await holdUp(
      "bellhop.property",
      'select property_id as "propertyId", bucket from bellhop.property',
      () => service.get("/api/public/v1/inventories?clientCode=ACME&propertyCode=NOWHERE"),
    );
    assert.equal(status, 200);
    assert.ok(((await slowRequest(headers)).waits?.["database"] ?? 0) >= SLOW_MS);
    assert.ok(reported().some(({ statement }) => statement === "read-find-property"));
  });

  test("a batch whose body arrives slowly", async () => {
    const text = JSON.stringify([inventoryRecord()]);
    const isReceiving = async () =>
      /^bellhop_body_bytes_in_flight [1-9]/m.test((await service.get("/metrics")).text);
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(text.slice(0, 10)));
        await until(isReceiving, WAIT_MS_MAX);
        const beganAt = performance.now();
        await until(() => performance.now() - beganAt > 3 * SLOW_MS, WAIT_MS_MAX);
        controller.enqueue(Buffer.from(text.slice(10)));
        controller.close();
      },
    });
    const { headers, status } = await service.post("inventories", body);
    assert.equal(status, 202);
    assert.ok(((await slowRequest(headers)).waits?.["body"] ?? 0) >= SLOW_MS);
  });

  test("the wait that a client requested does not make a request slow", async () => {
    const { headers, status } = await service.get("/api/public/v1/changes?from=now&wait=1");
    assert.equal(status, 200);
    const id = headers.get("x-request-id");
    const isOver = () =>
      service.logLines().some((line) => line.includes(`"httpRequestId":"${id}"`) && line.includes('"ms":'));
    await until(isOver, WAIT_MS_MAX);
    const line = reported().find(({ httpRequestId }) => httpRequestId === id);
    // On a machine that is busy with other things it may be slow by itself.
    const { ms = 0, waits } = line ?? {};
    assert.ok(line === undefined || ms - (waits?.["asked"] ?? 0) >= SLOW_MS, JSON.stringify(line));
  });

  test("reports contain no request or response data, and both kinds are counted", async () => {
    const lines = service.logLines().filter((line) => line.includes('"msg":"slow'));
    for (const line of lines) assert.doesNotMatch(line, /NOWHERE|ACME|LON01|DLX/);
    const { text } = await service.get("/metrics");
    assert.match(
      text,
      /bellhop_slow_requests_total\{route="\/api\/public\/v1\/inventories",waited="\w+"\} [1-9]/,
    );
    assert.match(text, new RegExp(`bellhop_slow_statements_total\\{statement="${APPENDS}"\\} [1-9]`));
  });
});
