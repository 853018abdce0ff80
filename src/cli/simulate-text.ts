import { FAULTS, type FaultName } from "../simulate/faults.ts";
import type { SentSimulation } from "../simulate/send-simulation.ts";
import { dateText, dayOfDate } from "../simulate/simulated-time.ts";
import type { SimulationOptions } from "../simulate/simulation.ts";
import type { SimulationCounts } from "../simulate/write-simulation.ts";
import type { SimulationTarget } from "./simulate-target.ts";
import { fieldLines, printable } from "./text-output.ts";

const figure = (count: number): string => count.toLocaleString("en-US");

function plantedText({ planted }: SimulationCounts): string {
  const names = Object.entries(planted) as [FaultName, number][];
  return names.map(([name, count]) => `${name} ${figure(count)}`).join(", ");
}

/** What was made, as named lines. */
export function countsLines(options: SimulationOptions, counts: SimulationCounts): string[] {
  const { seed, properties, days, start, clientCode } = options;
  const { inventories, groups, reservations } = counts.records;
  const fields: [string, string][] = [
    ["hotels", `${properties} of ${clientCode}`],
    ["days", `${days} from ${start} on, after a cold start the day before`],
    ["seed", `${seed}: the same options make the same records again`],
    [
      "records",
      `${figure(reservations)} reservations, ${figure(inventories)} inventories, ${figure(groups)} groups`,
    ],
  ];
  if (Object.keys(counts.planted).length > 0) fields.push(["planted", plantedText(counts)]);
  return fieldLines(fields);
}

/** What the service said of it. */
export function sentLines(sent: SentSimulation): string[] {
  const { batches, accepted, rejected, retries, outcomes, elapsedMs } = sent;
  const seconds = elapsedMs / 1_000;
  const ends = Object.entries(outcomes).filter(([, count]) => count > 0);
  return fieldLines([
    ["accepted", `${figure(accepted)} in ${figure(batches)} batches`],
    ["rejected", figure(rejected)],
    ...(ends.length === 0
      ? []
      : [["outcomes", ends.map(([outcome, count]) => `${outcome} ${figure(count)}`).join(", ")] as const]),
    ["repeated", figure(retries)],
    [
      "took",
      `${seconds.toFixed(1)} s, ${figure(Math.round(accepted / Math.max(seconds, 0.001)))} records a second`,
    ],
  ]);
}

/** Why not all was sent, and how much was. */
export function cutShortText(options: SimulationOptions, sent: SentSimulation, reason: unknown): string {
  const why = printable(reason instanceof Error ? reason.message : String(reason));
  const days = `${sent.days} of ${options.days + 1} days were sent whole (the cold start is one)`;
  return `${why} ${days}. The same line sends the same records again; those that the service has are duplicates to it.`;
}

/** Where to look next: pages of the console, and questions that anybody with the client's token may ask. */
export function placesToLook(
  options: SimulationOptions,
  target: SimulationTarget,
  firstProperty: string,
): string[] {
  const { clientCode, start, days, faults } = options;
  const lastDay = dayOfDate(start) + days - 1;
  const codes = new URLSearchParams({ clientCode, propertyCode: firstProperty }).toString();
  const console_ = (path: string) => `  ${new URL(`/console${path}`, target.baseUrl)}`;
  const question = (path: string, more: Record<string, string>) =>
    `  ${new URL(`/api/insight/v1/${path}?${codes}&${new URLSearchParams(more)}`, target.baseUrl)}`;
  const [from, to] = [dateText(lastDay + 1), dateText(lastDay + 30)];
  const weekAgo = `${dateText(Math.max(dayOfDate(start), lastDay - 6))}T00:00:00Z`;
  return [
    "",
    "In the console (npm run -s bellhop operator create NAME makes you a login):",
    `${console_("/")}   what came in`,
    `${console_(`/property?${codes}`)}   on the books`,
    `${console_(`/property/pickup?${codes}`)}   what was booked and given back`,
    `${console_(`/property/blocks?${codes}`)}   groups, their pickup and wash`,
    `${console_(`/property/reconciliation?${codes}`)}   ${faults.size === 0 ? "nothing differs" : "what differs, and why"}`,
    "",
    "Questions, with the client's token:",
    `${question("on-the-books", { from, to, by: "marketSegment" })}`,
    `${question("pickup", { from, to, since: weekAgo })}`,
    `${question("pace", { from, to })}`,
    `${question("reconciliation", { from, to, by: "roomType" })}`,
    ...(target.isOwn
      ? ["", `Its client is ${target.clientId}, made here and kept in DATA_DIR for the next simulation.`]
      : []),
  ];
}

/** Every fault with what it is, for the help. */
export function faultLines(): string[] {
  return fieldLines(Object.entries(FAULTS));
}
