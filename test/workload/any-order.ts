import { parseArgs } from "node:util";
import { startAppliers } from "./apply-engine.ts";
import { expectedState, linesOf } from "./expected-state.ts";
import { PLANTED_FAULTS, type PlantedFault } from "./planted-faults.ts";
import { contestedMoments, prepareMessages } from "./random-order.ts";
import { type AnyOrderRun, type OrderResult, runOrder } from "./run-order.ts";
import { generateWorkload } from "./workload.ts";

export interface AnyOrderOptions {
  readonly seed: number;
  readonly records: number;
  readonly orders: number;
  /** So many of the orders, the last ones, go through HTTP. */
  readonly http: number;
  readonly plant?: PlantedFault;
  readonly told?: (result: OrderResult, problems: readonly string[]) => void;
}

const PROPERTIES = 24;
const LANES = 3;
const APPLIERS = 2;

/**
 * Applies one workload in many random orders, each on a database of its own, and compares every one with what the
 * contract says and with the first. Answers the problems found: none is the guarantee "in any order" kept.
 */
export async function runAnyOrder(options: AnyOrderOptions): Promise<string[]> {
  const messages = prepareMessages(
    generateWorkload({ seed: options.seed, records: options.records, properties: PROPERTIES }),
  );
  const run: AnyOrderRun = {
    seed: options.seed,
    messages,
    contested: contestedMoments(messages),
    expected: linesOf(expectedState(messages.map(({ message }) => message))),
    lanes: LANES,
    startEngine: options.plant === undefined ? startAppliers(APPLIERS) : PLANTED_FAULTS[options.plant],
  };
  const problems: string[] = [];
  let first: OrderResult | undefined;
  for (let order = 1; order <= options.orders; order += 1) {
    const result = await runOrder(run, order, order > options.orders - options.http ? "http" : "process");
    first ??= result;
    const found = [...result.problems, ...analyticsProblems(first, result)];
    options.told?.(result, found);
    problems.push(...found.map((problem) => `order ${order}: ${problem}`));
  }
  return problems;
}

function analyticsProblems(first: OrderResult, result: OrderResult): string[] {
  return [...first.analytics]
    .filter(([view, digest]) => result.analytics.get(view) !== digest)
    .map(([view, digest]) => `analytics.${view}: ${result.analytics.get(view)}, in order 1 ${digest}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      orders: { type: "string", default: "100" },
      records: { type: "string", default: "20000" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      http: { type: "string", default: "2" },
      plant: { type: "string" },
    },
  });
  const plant = values.plant as PlantedFault | undefined;
  if (plant !== undefined && !Object.hasOwn(PLANTED_FAULTS, plant))
    throw new Error(`--plant takes ${Object.keys(PLANTED_FAULTS).join(" or ")}.`);
  const options = {
    seed: Number(values.seed),
    records: Number(values.records),
    orders: Number(values.orders),
  };
  console.log(`any order: ${JSON.stringify({ ...options, http: Number(values.http), plant })}`);
  const startedAt = performance.now();
  let records = 0;
  const problems = await runAnyOrder({
    ...options,
    http: Number(values.http),
    ...(plant === undefined ? {} : { plant }),
    told(result, found) {
      records += result.records;
      const verdict = found.length === 0 ? "same" : `DIFFERENT\n${found.join("\n")}`;
      const seconds = (result.durationMs / 1000).toFixed(1);
      console.log(
        `order ${result.order} (${result.through}): ${result.records} records in ${result.batches} batches, ${seconds} s: ${verdict}`,
      );
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${options.orders} orders, ${records} records, ${seconds.toFixed(0)} s, ${problems.length} problems.`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (import.meta.main) await main();
