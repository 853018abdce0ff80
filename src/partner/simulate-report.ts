import { hotelProfile } from "#simulator/hotel-profile.ts";
import type { SentSimulation } from "#simulator/send-simulation.ts";
import { dateText, dayOfDate } from "#simulator/simulated-time.ts";
import type { SimulationOptions } from "#simulator/simulation.ts";
import type { SimulationCounts } from "#simulator/write-simulation.ts";
import { type Field, fields, figure, printable } from "../cli/output.ts";

/** What was simulated. */
export function countsLines(options: SimulationOptions, { records, planted }: SimulationCounts): string[] {
  const { seed, properties, days, start, clientCode } = options;
  const faults = Object.entries(planted).map(([name, number]) => `${name} ${figure(number)}`);
  const plantedField: Field[] = faults.length === 0 ? [] : [["faults", faults.join(", ")]];
  return fields([
    ["hotels", `${properties} of ${clientCode}`],
    ["days", `${days} from ${start}, after an initial load on the day before`],
    ["seed", `${seed} (the same options produce the same records)`],
    [
      "records",
      `${figure(records.reservations)} reservations, ${figure(records.inventories)} inventories, ${figure(records.groups)} groups`,
    ],
    ...plantedField,
  ]);
}

/** What the service answered. */
export function sentLines(sent: SentSimulation): string[] {
  const { batches, accepted, rejected, retries, outcomes, elapsedMs } = sent;
  const seconds = elapsedMs / 1_000;
  const ends = Object.entries(outcomes).filter(([, number]) => number > 0);
  const ended = ends.map(([outcome, number]) => `${outcome} ${figure(number)}`).join(", ");
  const perSecond = figure(Math.round(accepted / Math.max(seconds, 0.001)));
  return fields([
    ["accepted", `${figure(accepted)} in ${figure(batches)} batches`],
    ["rejected", figure(rejected)],
    ...(ends.length === 0 ? [] : [["outcomes", ended] as const]),
    ["retries", figure(retries)],
    ["duration", `${seconds.toFixed(1)} s, ${perSecond} records per second`],
  ]);
}

/** Why the simulation was cut short, and how much was sent. */
export function cutShortText(options: SimulationOptions, sent: SentSimulation, reason: unknown): string {
  const why = printable(reason instanceof Error ? reason.message : String(reason));
  const days = `${sent.days} of ${options.days + 1} days were sent completely (the initial load is one).`;
  return `${why} ${days} The same command sends the same records again; those already stored are duplicates.`;
}

/** Pages of the console, and queries for the client's token. */
export function nextSteps(
  options: SimulationOptions,
  baseUrl: string,
  ownClientId: string | undefined,
): string[] {
  const { clientCode, start, days, faults, seed } = options;
  const lastDay = dayOfDate(start) + days - 1;
  const { propertyCode } = hotelProfile(seed, 0, clientCode);
  const codes = new URLSearchParams({ clientCode, propertyCode }).toString();
  const page = (path: string) => `  ${new URL(`/console${path}`, baseUrl)}`;
  const query = (path: string, more: Record<string, string>) =>
    `  ${new URL(`/api/insight/v1/${path}?${codes}&${new URLSearchParams(more)}`, baseUrl)}`;
  const [from, to] = [dateText(lastDay + 1), dateText(lastDay + 30)];
  const since = `${dateText(Math.max(dayOfDate(start), lastDay - 6))}T00:00:00Z`;
  const own = `The client is ${ownClientId}, created by this command and kept in DATA_DIR for the next simulation.`;
  return [
    "",
    "In the console (create a login: npm run -s bellhop operator create NAME):",
    `${page("/")}   ingestion`,
    `${page(`/property?${codes}`)}   on the books`,
    `${page(`/property/pickup?${codes}`)}   pickup and cancellations`,
    `${page(`/property/blocks?${codes}`)}   group blocks, pickup and wash`,
    `${page(`/property/reconciliation?${codes}`)}   ${faults.size === 0 ? "no differences" : "differences and their causes"}`,
    "",
    "Insight queries, with the client's token:",
    query("on-the-books", { from, to, by: "marketSegment" }),
    query("pickup", { from, to, since }),
    query("pace", { from, to }),
    query("reconciliation", { from, to, by: "roomType" }),
    ...(ownClientId === undefined ? [] : ["", own]),
  ];
}
