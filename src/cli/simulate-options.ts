import { parseArgs } from "node:util";
import { FAULT_NAMES, type FaultName } from "../simulate/faults.ts";
import { SIMULATED_RESOURCES, type SimulatedResource } from "../simulate/simulated-record.ts";
import { dateText, dayOfDate } from "../simulate/simulated-time.ts";
import type { SimulationOptions } from "../simulate/simulation.ts";
import { UsageError } from "./verb.ts";

/** The same days wherever records are only written: what a seed makes does not depend on when it is asked. */
const WRITTEN_START = "2025-01-01";
const DAY_MS = 86_400_000;
/** All of it is in memory. */
const AHEAD_MB_MAX = 65_536;

/** What is asked of `bellhop simulate`. */
export interface SimulateOptions {
  readonly simulation: SimulationOptions;
  /** A folder, or `-` for standard output; undefined sends. */
  readonly out: string | undefined;
  readonly resource: SimulatedResource | undefined;
  readonly url: string | undefined;
  readonly authUrl: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly batchRecords: number;
  readonly concurrency: number;
  readonly speed: number | undefined;
  /** What is made before the first batch is sent. */
  readonly aheadBytes: number;
  readonly waitForOutcomes: boolean;
  readonly json: boolean;
}

const OPTIONS = {
  properties: { type: "string" },
  days: { type: "string" },
  seed: { type: "string" },
  start: { type: "string" },
  "client-code": { type: "string" },
  horizon: { type: "string" },
  faults: { type: "string" },
  out: { type: "string" },
  resource: { type: "string" },
  url: { type: "string" },
  "auth-url": { type: "string" },
  "client-id": { type: "string" },
  "client-secret": { type: "string" },
  batch: { type: "string" },
  concurrency: { type: "string" },
  speed: { type: "string" },
  ahead: { type: "string" },
  "no-outcomes": { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Reads the command line; undefined where it asks for help. Throws UsageError. */
export function readSimulateOptions(args: readonly string[], now: Date): SimulateOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help === true) return undefined;
  const { out, url } = values;
  if (out !== undefined && url !== undefined) throw new UsageError("Either --out or --url, not both.");
  if (out === "") throw new UsageError("--out takes a folder, or - for standard output.");
  const days = count("days", values.days, 30, 1, 3_660);
  const resource = oneOf("resource", values.resource, SIMULATED_RESOURCES);
  if (resource !== undefined && out !== "-") throw new UsageError("--resource goes with --out -.");
  // What is sent must not lie in the future: a service holds such records aside.
  const yesterday = Math.floor(now.getTime() / DAY_MS) - 1;
  const start = values.start ?? (out === undefined ? dateText(yesterday - days + 1) : WRITTEN_START);
  return {
    simulation: {
      seed: count("seed", values.seed, 1, 0, 4_294_967_295),
      properties: count("properties", values.properties, 3, 1, 1_000),
      days,
      start: date("start", start),
      clientCode: code("client-code", values["client-code"] ?? "DEMO"),
      horizonDays: count("horizon", values.horizon, 365, 0, 730),
      faults: faultsOf(values.faults),
    },
    ...{ out, resource, url, authUrl: values["auth-url"] },
    ...{ clientId: values["client-id"], clientSecret: values["client-secret"] },
    batchRecords: count("batch", values.batch, 1_000, 1, 10_000),
    concurrency: count("concurrency", values.concurrency, 4, 1, 64),
    speed: speedOf(values.speed),
    aheadBytes: 1_000_000 * count("ahead", values.ahead, 0, 0, AHEAD_MB_MAX),
    waitForOutcomes: values["no-outcomes"] !== true,
    json: values.json === true,
  };
}

function count(
  name: string,
  text: string | undefined,
  fallback: number,
  least: number,
  most: number,
): number {
  if (text === undefined) return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} is a whole number from ${least} to ${most}, not ${JSON.stringify(text)}.`);
}

function date(name: string, text: string): string {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));
  // The years for which the simulator has dates at hand, with what is booked ahead.
  if (isDate && text >= "2000-01-01" && text < "2060-01-01" && dateText(dayOfDate(text)) === text)
    return text;
  throw new UsageError(`--${name} is a date from 2000-01-01 to 2059-12-31, not ${JSON.stringify(text)}.`);
}

function code(name: string, text: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(text)) return text;
  throw new UsageError(`--${name} takes letters, digits, - and _, at most 40, not ${JSON.stringify(text)}.`);
}

function oneOf<Word extends string>(
  name: string,
  text: string | undefined,
  words: readonly Word[],
): Word | undefined {
  if (text === undefined) return undefined;
  const word = words.find((one) => one === text);
  if (word === undefined)
    throw new UsageError(`--${name} is one of ${words.join(", ")}, not ${JSON.stringify(text)}.`);
  return word;
}

function faultsOf(text: string | undefined): ReadonlySet<FaultName> {
  if (text === undefined || text === "none") return new Set();
  if (text === "all") return new Set(FAULT_NAMES);
  const words = text.split(",").filter((word) => word !== "");
  return new Set(words.flatMap((word) => oneOf("faults", word, FAULT_NAMES) ?? []));
}

function speedOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "max") return undefined;
  const factor = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (factor > 0) return factor;
  throw new UsageError(`--speed is max, or how many seconds pass in one, not ${JSON.stringify(text)}.`);
}
