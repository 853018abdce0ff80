/**
 * `npm run campaign -- any-order [--orders 100] [--records 20000] [--seed N] [--first 1] [--plant race|skip-unchanged]`: applies
 * one workload in many random orders (test/workload/README.md). Exits with 1 at the first order whose result differs,
 * and prints the differing rows and the command that reproduces it.
 */
import { createHash } from "node:crypto";
import { type OrderResult, runAnyOrder } from "../test/workload/any-order.ts";
import { PLANTED_FAULTS, type PlantedFault } from "../test/workload/planted-faults.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- any-order [--orders 100] [--records 20000] [--seed N] [--first 1] [--plant race|skip-unchanged]

One workload in many random orders, which must all end in the same state. Exit code 1 at the first that differs.

  --orders N        orders to try; --first N is the number of the first one
  --records N       records of the workload
  --seed N          of the workload and its orders
  --http-every N    every so many orders go through a running service
  --at-once N       orders at a time
  --plant FAULT     a fault that must be found: race or skip-unchanged`;

const values = readOptions(USAGE, {
  orders: { type: "string", default: "100" },
  records: { type: "string", default: "20000" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  first: { type: "string", default: "1" },
  "http-every": { type: "string", default: "20" },
  "at-once": { type: "string", default: "2" },
  plant: { type: "string" },
});

function number(name: Exclude<keyof typeof values, "plant">, min: number): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < min)
    throw new Error(`--${name} takes a whole number from ${min} on.`);
  return value;
}

function plantedFault(): PlantedFault | undefined {
  const { plant } = values;
  if (plant === undefined || Object.hasOwn(PLANTED_FAULTS, plant)) return plant as PlantedFault | undefined;
  throw new Error(`--plant takes ${Object.keys(PLANTED_FAULTS).join(" or ")}.`);
}

const plant = plantedFault();
const options = {
  seed: number("seed", 0),
  records: number("records", 1),
  first: number("first", 1),
  orders: number("orders", 1),
  httpEvery: number("http-every", 0),
  atOnce: number("at-once", 1),
  ...(plant === undefined ? {} : { plant }),
};
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const startedAt = performance.now();
let orders = 0;
let records = 0;
let referenceDigest = "";

function report(result: OrderResult): void {
  const { order, through, batches, appliedMs, comparedMs, problems, views } = result;
  if (order === 0)
    referenceDigest = createHash("sha256")
      .update([...views].join("\n"))
      .digest("hex")
      .slice(0, 16);
  else orders += 1;
  records += result.records;
  const name = order === 0 ? "own order" : `order ${order}`;
  const took = `applied in ${seconds(appliedMs)}, compared in ${seconds(comparedMs)}`;
  console.log(
    `${name} (${through}): ${result.records} records in ${batches} batches, ${took}: ${problems.length === 0 ? "same" : "DIFFERENT"}`,
  );
  if (problems.length === 0) return;
  for (const problem of problems) console.log(`  ${problem}`);
  const made = `--seed ${options.seed} --records ${options.records} --first ${Math.max(order, 1)} --orders 1 --http-every ${options.httpEvery}`;
  console.log(
    `  again: npm run campaign -- any-order ${made}${plant === undefined ? "" : ` --plant ${plant}`}`,
  );
}

// The launcher was killed.
process.once("disconnect", () => process.exit(1));
console.log(`any order: ${JSON.stringify(options)}`);
const problems = await runAnyOrder({ ...options, onResult: report });
process.channel?.unref();
console.log(
  `${orders} orders, ${records} records with the own order, ${seconds(performance.now() - startedAt)}, views ${referenceDigest}: ${problems.length === 0 ? "all the same" : "DIFFERENT"}.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
