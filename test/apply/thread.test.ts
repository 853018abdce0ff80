import assert from "node:assert/strict";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ServiceProcess } from "../faults/service-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const metricOf = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")[1] ?? Number.NaN,
  );

describe("the thread that applies", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  test("does not run without the role apply: the node accepts, and another one applies", async () => {
    const accepting = await startTestService({ roles: ["accept", "read"] }, { database });
    const accepted = await accepting.post("inventories", [inventoryRecord()]);
    assert.equal(accepted.status, 202);
    const { rows } = await database.pool.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'bellhop apply'",
    );
    assert.equal(rows.length, 0);
    const status = `/api/public/v1/requests/${accepted.json()["requestId"]}`;
    assert.equal((await accepting.get(status)).json()["status"], "accepted");
    const applying = await startTestService({}, { database });
    await until(async () => (await accepting.get(status)).json()["status"] === "applied", 20_000);
    assert.equal(
      metricOf((await applying.get("/metrics")).text, 'bellhop_applied_records_total{outcome="applied"}'),
      1,
    );
    await applying.stop();
    await accepting.stop();
  });

  test("reports failures in the service's log and metrics, and continues once it can", async () => {
    const service = await startTestService({}, { database });
    await database.pool.query("alter table bellhop.request_outcome rename to request_outcome_gone");
    assert.equal(
      (await service.post("inventories", [inventoryRecord({ propertyCode: "LON02" })])).status,
      202,
    );
    const failures = async () =>
      metricOf((await service.get("/metrics")).text, "bellhop_apply_failures_total");
    await until(async () => (await failures()) > 0, 20_000);
    const lines = service.logLines().map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find(({ msg }) => msg === "apply failed and is retried");
    assert.equal(line?.["thread"], "apply-1");
    assert.match(JSON.stringify(line?.["err"]), /42P01/);
    await database.pool.query("alter table bellhop.request_outcome_gone rename to request_outcome");
    await until(async () => {
      const { rowCount } = await database.pool.query("select from bellhop.request_outcome");
      return rowCount === 2;
    }, 20_000);
    await service.stop();
  });
});

describe("a service whose applying thread fails", () => {
  let service: ServiceProcess;
  let file: string;
  before(async () => {
    file = join(await temporaryDirectory("crash"), "now");
    const crash = new URL("../faults/crash-thread.ts", import.meta.url);
    crash.search = String(new URLSearchParams({ thread: "apply-1", file }));
    service = await ServiceProcess.prepare({ imports: [crash.href] });
  });
  after(() => service.remove());

  const fatalLines = async () =>
    (await readFile(service.logPath, "utf8")).split("\n").filter((line) => line.includes('"level":60'));

  async function failsBy(how: string, cause: RegExp): Promise<void> {
    service.start();
    await service.untilReady(60_000);
    // Whole at once, as it is looked for all the time.
    await writeFile(`${file}.new`, how);
    await rename(`${file}.new`, file);
    assert.equal(await service.ended(), 1);
    await rm(file);
    const fatal = (await fatalLines()).at(-1) ?? "";
    assert.match(fatal, /The thread apply-1 failed.*a failure: stopping/);
    assert.match(fatal, cause);
  }

  test("stops the service with a log line when it crashes", () => failsBy("throw", /a planted crash/));

  test("serves again after the next start, and goes down in the same order when its heap is full", () =>
    failsBy("heap", /used up its \d+ MB of memory. A higher BODIES_IN_FLIGHT_BYTES.*reaching memory limit/));

  test("serves again after that, too, and ends in order", async () => {
    service.start();
    await service.untilReady(60_000);
    assert.equal(await service.end("SIGTERM"), 0);
    assert.equal((await fatalLines()).length, 2);
  });
});
