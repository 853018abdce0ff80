import { once } from "node:events";
import { BellhopError } from "#client";
import { shareLine } from "#client/progress-bar.ts";
import { FAULT_NAMES, FAULTS, type FaultName } from "#simulator/faults.ts";
import { hotelProfile } from "#simulator/hotel-profile.ts";
import { makeApart } from "#simulator/packed-day.ts";
import {
  type SentSimulation,
  type SimulationCounts,
  SimulationCutShort,
  sendSimulation,
  writeFolder,
  writeLines,
} from "#simulator/send-simulation.ts";
import { dateText, dayOfDate, SIMULATED_RESOURCES } from "#simulator/simulated-record.ts";
import { type SimulationOptions, simulate } from "#simulator/simulation.ts";
import {
  type CommandContext,
  choice,
  count,
  flag,
  listText,
  type Noun,
  parsed,
  text,
  verb,
  withDefault,
} from "../../cli/command.ts";
import { type Field, fields, figure, printable } from "../../cli/output.ts";
import { untilStopped } from "../../cli/stop-signals.ts";
import { localAddress } from "../../config.ts";
import { administer } from "../../identity/cli/administer.ts";
import { openSimulatorClient } from "../../identity/local-clients.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { makeDirectory } from "../../platform/runtime/make-directory.ts";
import { isLocal, type PartnerIdentity, partnerClient } from "../partner-client.ts";

/** A fixed date, so that written data depends only on the seed. */
const WRITTEN_START = "2025-01-01";
const DAY_MS = 86_400_000;

const DATE = parsed(
  "DATE",
  "first day (default: so that the last one was yesterday, with --out 2025-01-01)",
  (given, name) => {
    const isDate = /^\d{4}-\d{2}-\d{2}$/.test(given) && !Number.isNaN(Date.parse(`${given}T00:00:00Z`));
    // Years covered by the simulator, including advance bookings.
    if (isDate && given >= "2000-01-01" && given < "2060-01-01" && dateText(dayOfDate(given)) === given)
      return given;
    throw new UsageError(
      `${name} must be a date from 2000-01-01 to 2059-12-31, not ${JSON.stringify(given)}.`,
    );
  },
);

const CODE = parsed("CLIENTCODE", "client code", (given, name) => {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(given)) return given;
  throw new UsageError(`${name} must be 1 to 40 letters, digits, - and _, not ${JSON.stringify(given)}.`);
});

const FAULT_LIST = parsed(
  "LIST",
  "faults to plant: all, or names separated by commas",
  (given, name): ReadonlySet<FaultName> => {
    if (given === "none") return new Set();
    if (given === "all") return new Set(FAULT_NAMES);
    const words = given.split(",").filter(Boolean);
    const unknown = words.find((word) => !FAULT_NAMES.some((known) => known === word));
    if (unknown !== undefined)
      throw new UsageError(
        `${name} must be ${listText([...FAULT_NAMES, "all"])}, not ${JSON.stringify(unknown)}.`,
      );
    return new Set(FAULT_NAMES.filter((known) => words.includes(known)));
  },
);

const SPEED = parsed(
  "FACTOR",
  "simulated seconds per second, 86400 for a day per second (default: max)",
  (given, name) => {
    if (given === "max") return undefined;
    const factor = /^\d{1,9}(\.\d{1,6})?$/.test(given) ? Number(given) : 0;
    if (factor > 0) return factor;
    throw new UsageError(`${name} must be max or a positive number, not ${JSON.stringify(given)}.`);
  },
);

const OPTIONS = {
  properties: withDefault(count("hotels; every second one is a resort", { least: 1, most: 1_000 }), 3),
  days: withDefault(
    count("days, after an initial load with what is on the books", { least: 1, most: 3_660 }),
    30,
  ),
  seed: withDefault(count("seed; the same seed produces the same records", { most: 4_294_967_295 }), 1),
  start: DATE,
  client: withDefault(CODE, "DEMO"),
  horizon: withDefault(count("nights in each nightly inventory push", { most: 730 }), 365),
  faults: withDefault(FAULT_LIST, new Set<FaultName>(), "none"),
  out: text("DIR|-", "write files there instead of sending; - writes lines to standard output"),
  resource: choice("RESOURCE", SIMULATED_RESOURCES, "with --out -: only records of this resource"),
  url: text("URL", "the service (default: the one on this machine)"),
  authUrl: text("URL", "where tokens are issued (default: the service)"),
  clientId: text("ID", "the client's id; required for a service on another machine"),
  clientSecret: text("SECRET", "the client's secret"),
  batch: withDefault(count("records per batch", { least: 1, most: 10_000 }), 1_000),
  concurrency: withDefault(count("requests of one resource at the same time", { least: 1, most: 64 }), 4),
  speed: SPEED,
  noOutcomes: flag("do not wait until batches are applied"),
  ahead: withDefault(count("megabytes of batches to prepare before the first is sent", { most: 65_536 }), 0),
};

type Values = { readonly [Name in keyof typeof OPTIONS]: ReturnType<(typeof OPTIONS)[Name]["read"]> };

function simulationOf({ out, days, start, ...values }: Values): SimulationOptions {
  const yesterday = Math.floor(Date.now() / DAY_MS) - 1;
  // Sent records must not have future source times: the service would quarantine them.
  const byDefault = out === undefined ? dateText(yesterday - days + 1) : WRITTEN_START;
  const { seed, properties, client: clientCode, horizon: horizonDays, faults } = values;
  return { seed, properties, days, start: start ?? byDefault, clientCode, horizonDays, faults };
}

async function write(values: Values, out: string, { output, json }: CommandContext): Promise<void> {
  const simulation = simulationOf(values);
  const days = simulate(simulation);
  const toStandardOutput = async (bytes: Uint8Array) => {
    if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
  };
  if (out !== "-") {
    await makeDirectory(out);
    const counts = await writeFolder(days, out);
    output.result(counts, fields(countsFields(simulation, counts)));
    return;
  }
  const counts = await writeLines(days, values.resource, toStandardOutput);
  // Records go to standard output.
  for (const line of json ? [JSON.stringify(counts)] : fields(countsFields(simulation, counts)))
    output.message(line);
}

interface Target extends PartnerIdentity {
  /** Whether the client was created by this command. */
  readonly isOwn: boolean;
}

/** Without credentials, on this machine, creates a client in the service's database. */
async function findTarget(
  { url, clientId, clientSecret, ...values }: Values,
  { progress, session }: CommandContext,
): Promise<Target> {
  const config = session.config();
  const baseUrl = url ?? config.baseUrl ?? localAddress(config);
  if (!URL.canParse(baseUrl))
    throw new UsageError(`--url must be an address, not ${JSON.stringify(baseUrl)}.`);
  progress.show(`waiting for an answer of ${printable(baseUrl)}`);
  await requireService(baseUrl);
  const authUrl = values.authUrl ?? (url === undefined ? config.authUrl : undefined);
  if (clientId !== undefined && clientSecret !== undefined)
    return { baseUrl, authUrl, clientId, clientSecret, isOwn: false };
  if (clientId !== undefined || clientSecret !== undefined)
    throw new UsageError("--client-id and --client-secret go together.");
  if (url !== undefined && !isLocal(baseUrl))
    throw new UsageError(`${baseUrl} is another machine: --client-id and --client-secret are required.`);
  const own = await administer(session, (admin) => openSimulatorClient(admin, config.dataDir, values.client));
  return { baseUrl, authUrl, ...own, isOwn: true };
}

async function requireService(baseUrl: string): Promise<void> {
  try {
    const response = await fetch(new URL("/healthz", baseUrl), { signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
  } catch (cause) {
    throw new UsageError(`No service answers at ${baseUrl}. Start one (npm start) or set --url.`, { cause });
  }
}

async function send(values: Values, context: CommandContext): Promise<number> {
  const { output, progress } = context;
  const { batch: batchRecords, concurrency, speed } = values;
  const simulation = simulationOf(values);
  const { baseUrl, authUrl, clientId, clientSecret, isOwn } = await findTarget(values, context);
  // On one machine compression takes longer than sending.
  const compression = isLocal(baseUrl) ? "none" : "gzip";
  const bellhop = partnerClient(
    { baseUrl, authUrl, clientId, clientSecret, concurrency, compression },
    context,
  );
  const stopped = untilStopped();
  const { signal } = stopped;
  const aheadBytes = 1_000_000 * values.ahead;
  const days = makeApart(simulation, { batchRecords, aheadBytes, isPaced: speed !== undefined, signal });
  progress.show("making the initial load");
  const report = (sent: SentSimulation, complete: boolean) => {
    const next = complete ? nextSteps(simulation, baseUrl, isOwn ? clientId : undefined) : [];
    output.result({ ...sent, complete }, [
      ...fields([...countsFields(simulation, sent), ...sentFields(sent)]),
      ...next,
    ]);
  };
  try {
    const sent = await sendSimulation(days, bellhop, {
      concurrency,
      speed,
      waitForOutcomes: !values.noOutcomes,
      signal,
      lenient: simulation.faults.has("invalid"),
      onDay: (soFar, { date }) => {
        const line = progressText(soFar, date, simulation.days);
        progress.show(() => line);
      },
    });
    report(sent, true);
    return sent.rejected === (sent.planted.invalid ?? 0) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof SimulationCutShort)) throw error;
    // Any other cause is a defect of the simulator.
    if (!signal.aborted && !(error.cause instanceof BellhopError)) throw error.cause;
    report(error.sent, false);
    output.failure(cutShortText(simulation, error.sent, signal.aborted ? signal.reason : error));
    return stopped.code() ?? 1;
  } finally {
    stopped.forget();
  }
}

function progressText({ days, accepted, elapsedMs }: SentSimulation, date: string, of: number): string {
  const perSecond = Math.round((accepted * 1_000) / Math.max(elapsedMs, 1));
  const parts = [
    `day ${days - 1} of ${of}, ${date}`,
    `${figure(accepted)} accepted`,
    `${figure(perSecond)}/s`,
  ];
  return shareLine(parts, days / (of + 1), elapsedMs);
}

const own = verb({
  summary: "simulate a hotel group: send its records or write them to files",
  details: `Calibrated on real bookings (docs/simulator.md). --out DIR writes inventories.ndjson, groups.ndjson, reservations.ndjson and planted.ndjson; --out - writes lines of {"date","wave","resource","record"}.`,
  list: { title: "Faults", items: Object.entries(FAULTS) },
  options: OPTIONS,
  examples: [
    "simulate --days 90 --properties 5",
    "simulate --faults late,duplicate --speed 86400",
    "simulate --out - --resource reservations > reservations.ndjson",
  ],
  json: '{"days", "records", "planted"}; when sending also {"batches", "accepted", "rejected", "retries", "outcomes", "elapsedMs", "complete"}',
  exitCodes:
    "0 every record was accepted except planted invalid ones; 1 not, or incomplete; 130, 143 stopped by SIGINT, SIGTERM. The same command sends the same records again.",
  run: async (values, context) => {
    const { out, url, resource } = values;
    if (out !== undefined && url !== undefined) throw new UsageError("--out and --url cannot be combined.");
    if (out === "") throw new UsageError("--out must be a folder, or - for standard output.");
    if (resource !== undefined && out !== "-") throw new UsageError("--resource needs --out -.");
    return out === undefined ? send(values, context) : write(values, out, context);
  },
});

export const command: Noun = { own };

function countsFields(options: SimulationOptions, { records, planted }: SimulationCounts): Field[] {
  const { seed, properties, days, start, clientCode } = options;
  const faults = Object.entries(planted).map(([name, number]) => `${name} ${figure(number)}`);
  const plantedField: Field[] = faults.length === 0 ? [] : [["faults", faults.join(", ")]];
  return [
    ["hotels", `${properties} of ${clientCode}`],
    ["days", `${days} from ${start}, after an initial load on the day before`],
    ["seed", `${seed} (the same options produce the same records)`],
    [
      "records",
      `${figure(records.reservations)} reservations, ${figure(records.inventories)} inventories, ${figure(records.groups)} groups`,
    ],
    ...plantedField,
  ];
}

function sentFields(sent: SentSimulation): Field[] {
  const { batches, accepted, rejected, retries, outcomes, elapsedMs } = sent;
  const seconds = elapsedMs / 1_000;
  const ends = Object.entries(outcomes).filter(([, number]) => number > 0);
  const ended = ends.map(([outcome, number]) => `${outcome} ${figure(number)}`).join(", ");
  const perSecond = figure(Math.round(accepted / Math.max(seconds, 0.001)));
  return [
    ["accepted", `${figure(accepted)} in ${figure(batches)} batches`],
    ["rejected", figure(rejected)],
    ...(ends.length === 0 ? [] : [["outcomes", ended] as const]),
    ["retries", figure(retries)],
    ["duration", `${seconds.toFixed(1)} s, ${perSecond} records per second`],
  ];
}

/** Why the simulation was cut short, and how much was sent. */
function cutShortText(options: SimulationOptions, sent: SentSimulation, reason: unknown): string {
  const why = printable(reason instanceof Error ? reason.message : String(reason));
  const days = `${sent.days} of ${options.days + 1} days were sent completely (the initial load is one).`;
  return `${why} ${days} The same command sends the same records again; those already stored are duplicates.`;
}

/** Console pages to open, and requests to try with the client's token. */
function nextSteps(options: SimulationOptions, baseUrl: string, ownClientId: string | undefined): string[] {
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
