import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findPython, runExample } from "../support/run-example.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";

const MAPPINGS = new URL("../../examples/mappings/", import.meta.url);
const root = fileURLToPath(new URL("../../", import.meta.url));

let service: TestService;
let client: TestClient;
let directory: string;
before(async () => {
  service = await startTestService();
  client = await service.newClient({ grants: [{ clientCode: "DEMO", propertyCode: "*" }] });
  directory = await temporaryDirectory("mappings");
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true });
});

/** What an adapter of `examples/mappings` prints. */
async function run(adapter: string, property: string): Promise<string> {
  const file = fileURLToPath(new URL(adapter, MAPPINGS));
  const isPython = adapter.endsWith(".py");
  const [command, args] = isPython
    ? [python ?? "python3", [file]]
    : [process.execPath, [join(root, "examples/run.ts"), file]];
  const tokenFile = join(directory, "token");
  return await runExample(command, args, {
    cwd: directory,
    address: service.address,
    client,
    property,
    tokenFile,
  });
}

/** Rooms, adults, children and net revenue by night and room type. */
async function books(propertyCode: string) {
  const asked = new URLSearchParams({
    ...{ clientCode: "DEMO", propertyCode, from: "2027-06-30", to: "2027-07-03", by: "roomType" },
  });
  const answer = await service.get(`/api/insight/v1/on-the-books?${asked}`, { as: client });
  const items = answer.json()["items"] as Record<string, unknown>[];
  return items
    .filter(({ rooms }) => rooms !== 0)
    .map((one) =>
      ["stayDate", "roomType", "rooms", "adults", "children", "roomRevenue"]
        .map((name) => one[name])
        .join(" "),
    );
}

const python = await findPython();

const DOUBLE = "773d5e42-de1e-43a0-9ce6-f940faf2303f";
for (const [adapter, printed, expected] of [
  [
    "opera-cloud.mjs",
    "reservations: 3 applied\n",
    [
      "2027-06-30 DLX 1 2 0 100.00",
      "2027-06-30 STD 1 2 0 120.00",
      "2027-07-01 DLX 1 2 0 120.00",
      "2027-07-02 STE 1 2 0 150.00",
    ],
  ],
  [
    "mews.mjs",
    "reservations: 2 applied\n",
    [`2027-06-30 ${DOUBLE} 1 2 1 100.00`, `2027-07-01 ${DOUBLE} 1 2 1 120.00`],
  ],
  [
    "apaleo.mjs",
    "groups: 1 applied\nreservations: 2 applied\n",
    ["2027-06-30 DBL 1 2 1 100.00", "2027-07-01 DBL 1 2 1 100.00", "2027-07-02 STE 1 2 1 100.00"],
  ],
  [
    "cloudbeds.mjs",
    "reservations: 2 applied\n",
    ["2027-06-30 65027 1 2 0 100.00", "2027-06-30 65030 1 2 1 200.00", "2027-07-01 65027 1 2 0 120.00"],
  ],
  [
    "ota_hotelresnotif.py",
    "reservations: 2 applied\n",
    ["2027-06-30 DLX 1 2 0 100.00", "2027-06-30 STE 1 2 1 200.00", "2027-07-01 DLX 1 2 0 120.00"],
  ],
] as const)
  test(`${adapter} pushes its example without a warning, and the books have its nights`, {
    skip: adapter.endsWith(".py") && python === undefined ? "no python3" : false,
  }, async () => {
    const property = adapter.replace(/\..*$/, "").toUpperCase();
    assert.equal(await run(adapter, property), printed);
    assert.deepEqual(await books(property), expected);
  });

test("a local time becomes UTC by the hotel's time zone, also on the days when clocks change", async () => {
  const { utcOfLocal, dateAt } = (await import(new URL("times.mjs", MAPPINGS).href)) as {
    utcOfLocal: (timeZone: string, local: string) => string;
    dateAt: (timeZone: string, instant: string) => string;
  };
  const zone = "Europe/Berlin";
  assert.equal(utcOfLocal(zone, "2026-07-01 12:00:00"), "2026-07-01T10:00:00.000Z");
  assert.equal(utcOfLocal(zone, "2026-12-01T12:00:00.5"), "2026-12-01T11:00:00.500Z");
  assert.equal(utcOfLocal(zone, "2026-10-25 02:30:00"), "2026-10-25T00:30:00.000Z");
  assert.equal(utcOfLocal(zone, "2026-10-25 03:00:00"), "2026-10-25T02:00:00.000Z");
  // Clocks go from 02:00 to 03:00: this time does not exist.
  assert.equal(utcOfLocal(zone, "2026-03-29 02:30:00"), "2026-03-29T01:30:00.000Z");
  assert.equal(dateAt(zone, "2027-06-30T22:30:00Z"), "2027-07-01");
  assert.equal(dateAt("America/New_York", "2027-07-01T02:00:00Z"), "2027-06-30");
});
