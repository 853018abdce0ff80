import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";
import type { AskOrder, AskReport } from "./ask-process.ts";
import { startElsewhere } from "./elsewhere.ts";
import type { FloodedRoute } from "./flood-routes.ts";
import { push } from "./take-arms.ts";

const READ_MS = 10_000;
const CONNECTIONS = 6;
/** An unknown field, whose differences, redaction and text are computed over everything. */
const NUMBERS = 120_000;
const VERSIONS = 4;

const dateOf = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
const numbers = (version: number) => Array.from({ length: NUMBERS }, (_, at) => at * (version + 1));

/** Records that are legal and as expensive as they can be, by resource. */
function worstRecords(version: number): [string, LooseRecord][] {
  const unknown = { unknown: numbers(version) };
  const roomStays = Array.from({ length: 2_000 }, (_, at) => ({
    arrivalDate: dateOf(at % 1_000),
    departureDate: dateOf((at % 1_000) + 1 + version),
    roomTypeCode: `T${at}`,
  }));
  const groupBlocks = Array.from({ length: 5_000 }, (_, at) => ({
    occupancyDate: dateOf(at % 1_000),
    roomTypeCode: `T${Math.floor(at / 1_000)}`,
    blocks: 1 + version,
  }));
  return [
    ["reservations", reservationRecord({ reservationId: "WORST", ...unknown })],
    ["reservations", reservationRecord({ reservationId: "STAYS", roomStays })],
    [
      "groups",
      groupRecord({ groupCode: "WORST", startDate: dateOf(0), endDate: dateOf(1_100), groupBlocks }),
    ],
    ["groups", groupRecord({ groupCode: "NUMBERS", ...unknown })],
    ["inventories", inventoryRecord({ occupancyDate: dateOf(0), ...unknown })],
  ];
}

/** Values of parameters, for the routes that take them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  clientCode: "ACME",
  propertyCode: "LON01",
  resource: "reservations",
  key: "WORST",
  reservationId: "WORST",
  groupCode: "WORST",
  occupancyDate: dateOf(0),
  stayDate: dateOf(0),
  from: dateOf(0),
  to: dateOf(1_000),
  since: "2020-01-01T00:00:00Z",
  daysBefore: "30",
  text: "WORST",
  limit: "50",
};
const HISTORIES = { reservations: "WORST", groups: "NUMBERS", inventories: dateOf(0) };

/** The question to a route with every parameter that it takes: its answer to an unknown one lists them. */
async function questionOf(base: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const answer = await fetch(`${base}?unknown=1`, { headers });
  const [, taken = ""] = /this address takes: ([^".]*)\./.exec(await answer.text()) ?? [];
  const names = taken.split(", ").filter((name) => name in PARAMETERS);
  const parameters = new URLSearchParams(
    Object.fromEntries(names.map((name) => [name, PARAMETERS[name] ?? ""])),
  );
  return names.length === 0 ? base : `${base}?${parameters}`;
}

/** Pushes the worst records in several versions and asks every read of the API and of the console for them, again and again. */
export async function readWorst(
  address: string,
  token: string,
  session: readonly string[],
  routes: readonly FloodedRoute[],
): Promise<{ questions: number; answered: number; problems: string[] }> {
  let requestId = "";
  for (let version = 0; version < VERSIONS; version += 1) {
    for (const [resource, record] of worstRecords(version))
      requestId = await push(address, token, resource, [record]);
  }
  const bearer = { authorization: `Bearer ${token}` };
  const cookie = Object.fromEntries(session.map((line) => line.split(": ", 2) as [string, string]));
  const askers = [];
  const problems: string[] = [];
  let count = 0;
  for (const [isConsole, headers] of [
    [false, bearer],
    [true, cookie],
  ] as const) {
    const questions: string[] = [];
    for (const route of routes.filter((one) => one.method === "GET" && one.isConsole === isConsole)) {
      const path = route.path.replaceAll(/\{index\}/g, "0").replaceAll(/\{\w+\}/g, requestId);
      questions.push(await questionOf(`${address}${path}`, headers));
    }
    for (const [resource, key] of isConsole ? Object.entries(HISTORIES) : []) {
      const of = new URLSearchParams({ resource, clientCode: "ACME", propertyCode: "LON01", key });
      questions.push(`${address}/console/api/history?${of}`);
    }
    count += questions.length;
    const asker = startElsewhere(new URL("./ask-process.ts", import.meta.url));
    asker.send({ questions, headers, connections: CONNECTIONS } satisfies AskOrder);
    askers.push(asker);
  }
  await delay(READ_MS);
  let answered = 0;
  for (const asker of askers) {
    asker.send("stop");
    const [report] = (await once(asker, "message")) as [AskReport];
    answered += report.answered;
    problems.push(...report.failed.map((what) => `a read of the worst records: ${what}`));
    asker.kill();
  }
  if (answered === 0) problems.push("no read of the worst records was answered");
  return { questions: count, answered, problems };
}
