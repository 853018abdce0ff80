import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type ClientStatus,
  listStatuses,
  mapStatus,
  unmapStatus,
} from "../../src/settings/status-mapping.ts";
import { apply, readRequest, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const WALK_IN: ClientStatus = { clientCode: "ACME", resource: "reservations", status: "WALK IN" };
const OLD = "2026-01-01T00:00:00Z";

const warnedOf = async (requestId: string) =>
  (await readRequest(service, requestId)).records.flatMap(({ warnings }) =>
    (warnings as { code: string }[]).map(({ code }) => code),
  );

test("an unknown status has a warning and is counted separately until it is mapped", async () => {
  const first = await apply(service, "reservations", [
    reservation("l1", OLD, { status: "WALK IN" }),
    reservation("l2", OLD, { status: "WALK IN" }),
    reservation("l3", OLD, { status: "Confirmed" }),
  ]);
  assert.deepEqual(await warnedOf(first), ["status.unmapped", "status.unmapped"]);
  assert.deepEqual(await listStatuses(service.pool, "ACME"), [
    {
      clientCode: "ACME",
      resource: "reservations",
      status: "Confirmed",
      records: 1,
      canonical: "CONFIRMED",
      deducts: true,
      by: "default",
    },
    { ...WALK_IN, records: 2, canonical: null, deducts: false, by: "unmapped" },
  ]);
  await mapStatus(service.pool, WALK_IN, true);
  const [, mapped] = await listStatuses(service.pool, null);
  assert.deepEqual(mapped, { ...WALK_IN, records: 2, canonical: null, deducts: true, by: "mapping" });
});

test("a running service honours a mapping within seconds, of its client code alone", async () => {
  await mapStatus(service.pool, { ...WALK_IN, clientCode: "OTHER", status: "GHOST" }, true);
  let minute = 0;
  await until(async () => {
    minute += 1;
    const sourceTime = new Date(Date.UTC(2026, 1, 1, 0, minute)).toISOString();
    const ghost = await apply(service, "reservations", [reservation("g1", sourceTime, { status: "GHOST" })]);
    assert.deepEqual(await warnedOf(ghost), ["status.unmapped"]);
    const mapped = await apply(service, "reservations", [
      reservation("l1", sourceTime, { status: "WALK IN" }),
    ]);
    return (await warnedOf(mapped)).length === 0;
  }, 20_000);
});

test("a client code's mapping overrides the default until it is removed", async () => {
  const of: ClientStatus = { clientCode: "ACME", resource: "reservations", status: "NO SHOW" };
  await apply(service, "reservations", [reservation("n1", OLD, { status: "NO SHOW" })]);
  const meaning = async () =>
    (await listStatuses(service.pool, "ACME")).find(({ status }) => status === "NO SHOW");
  assert.deepEqual([(await meaning())?.deducts, (await meaning())?.by], [false, "default"]);
  await mapStatus(service.pool, of, true);
  assert.deepEqual([(await meaning())?.deducts, (await meaning())?.by], [true, "mapping"]);
  assert.equal(await unmapStatus(service.pool, of), true);
  assert.equal(await unmapStatus(service.pool, of), false);
  assert.deepEqual([(await meaning())?.deducts, (await meaning())?.by], [false, "default"]);
});
