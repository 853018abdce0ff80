import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BellhopClient } from "#client";
import { FAULT_NAMES, type FaultName, type PlantedFault } from "#simulator/faults.ts";
import { makeApart } from "#simulator/packed-day.ts";
import { sendSimulation } from "#simulator/send-simulation.ts";
import type { SimulationOptions } from "#simulator/simulation.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";

const OPTIONS: SimulationOptions = {
  seed: 5,
  properties: 2,
  days: 6,
  start: "2025-04-01",
  clientCode: "DEMO",
  horizonDays: 40,
  faults: new Set(),
};
const PROPERTIES = ["CITY001", "RESORT002"];
const RANGE = { from: "2025-04-01", to: "2025-05-15", by: "roomType", limit: "1000" };

const ANSWERED_MS_MAX = 60_000;

interface NightItem {
  readonly stayDate: string;
  readonly roomType: string;
  readonly difference: number | null;
  readonly reported: number | null;
}

describe("simulated hotels through the real API", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** Sends a simulation under a client code of its own, and answers how reconciliation and its records look. */
  async function run(clientCode: string, faults: ReadonlySet<FaultName>) {
    const scopes = ["inventories:write", "reservations:write", "groups:write", "read", "insight:read"];
    const client = await service.newClient({ scopes, grants: [{ clientCode, propertyCode: "*" }] });
    const { clientId, clientSecret } = client;
    const bellhop = new BellhopClient({ baseUrl: service.address, clientId, clientSecret });
    const planted: PlantedFault[] = [];
    const days = makeApart(
      { ...OPTIONS, clientCode, faults },
      { batchRecords: 500, aheadBytes: 0, isPaced: false },
    );
    const sent = await sendSimulation(days, bellhop, {
      concurrency: 2,
      speed: undefined,
      waitForOutcomes: true,
      lenient: faults.has("invalid"),
      onDay: (_, day) => planted.push(...day.planted),
    });
    const ask = (path: string, query: Readonly<Record<string, string>>) =>
      untilFound(async () => {
        const answer = await service.get(`${path}?${new URLSearchParams({ clientCode, ...query })}`, {
          as: client,
        });
        // A busy machine's database may be late.
        if (answer.status === 503) return undefined;
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
      }, ANSWERED_MS_MAX);
    const nights = new Map<string, NightItem>();
    for (const propertyCode of PROPERTIES) {
      const { items, nextCursor } = await ask("/api/insight/v1/reconciliation", { propertyCode, ...RANGE });
      assert.equal(nextCursor, null);
      for (const item of items as NightItem[])
        nights.set(`${propertyCode} ${item.stayDate} ${item.roomType}`, item);
    }
    return { sent, planted, nights };
  }

  const differences = (nights: ReadonlyMap<string, NightItem>): Record<string, number> =>
    Object.fromEntries(
      [...nights].flatMap(([key, { difference }]) =>
        difference === null || difference === 0 ? [] : [[key, difference]],
      ),
    );

  test("without faults nothing is rejected, and reconciliation finds no difference on any night", async () => {
    const { sent, planted, nights } = await run("DEMO", new Set());
    assert.deepEqual(planted, []);
    assert.equal(sent.rejected, 0);
    assert.equal(sent.outcomes["quarantined"], 0);
    assert.equal(sent.outcomes["duplicate"], 0);
    assert.ok([...nights.values()].filter(({ reported }) => reported !== null).length > 300);
    assert.deepEqual(differences(nights), {});
  });

  test("with every fault, exactly the planted records are rejected, quarantined, duplicate and different", async () => {
    const { sent, planted, nights } = await run("FAULTY", new Set(FAULT_NAMES));
    const of = (fault: FaultName) => planted.filter((one) => one.fault === fault);
    for (const fault of FAULT_NAMES) assert.ok(of(fault).length > 0, `${fault} was never planted`);
    const expecting = (outcome: string) =>
      planted.filter(({ expects }) => expects.outcome === outcome).length;
    assert.equal(sent.rejected, expecting("rejected"));
    assert.equal(sent.quarantined, expecting("quarantined"));
    assert.equal(sent.outcomes["duplicate"], expecting("duplicate"));
    assert.equal(sent.outcomes["stale"], expecting("stale"));

    const expected = planted.flatMap(
      ({ propertyCode, expects: { nights: dates = [], roomType, difference } }) =>
        dates.map((date) => [`${propertyCode} ${date} ${roomType}`, difference] as const),
    );
    const reported = expected.filter(([key]) => nights.has(key));
    assert.deepEqual(
      differences(nights),
      Object.fromEntries(reported.sort(([one], [other]) => (one < other ? -1 : 1))),
    );
  });
});
