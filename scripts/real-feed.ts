/**
 * `npm run campaign -- real-feed [--bookings N] [--instants 50] [--seed N] [--order time|any]`: pushes real bookings as a feed,
 * in order of time and in another order, and compares the insights with the data (test/real-feed/README.md). Exits with
 * 1 if a response differs.
 */
import { ORDERS, type Order, runRealFeed } from "../test/real-feed/run-real-feed.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- real-feed [--bookings N] [--instants 50] [--seed N] [--order time|any]

Real bookings pushed to a service of their own, in the order of time and in another one: on the books, pickup and pace must
equal what the rows say, to the room and to the cent. Exit code 1 when they do not.

  --bookings N      so many of the bookings, spread over the rows; all 25,000 by default
  --instants N      instants at which both hotels are asked
  --seed N          of the instants and of the other order
  --order ORDER     only this one: time or any
  --batch N         records of a batch, about; 250 by default`;

const values = readOptions(USAGE, {
  bookings: { type: "string" },
  instants: { type: "string", default: "50" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  order: { type: "string", multiple: true, default: [...ORDERS] },
  batch: { type: "string", default: "250" },
});

function wholeFrom1(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1 on.`);
  return value;
}

function orders(): Order[] {
  return values.order.map((word) => {
    const order = ORDERS.find((one) => one === word);
    if (order === undefined) throw new Error(`--order takes ${ORDERS.join(" or ")}.`);
    return order;
  });
}

const options = {
  orders: orders(),
  seed: wholeFrom1("seed", values.seed),
  instants: wholeFrom1("instants", values.instants),
  batchRecords: wholeFrom1("batch", values.batch),
  ...(values.bookings === undefined ? {} : { bookings: wholeFrom1("bookings", values.bookings) }),
};
// The launcher was killed.
process.once("disconnect", () => process.exit(1));
const startedAt = performance.now();
console.log(`real feed: ${JSON.stringify(options)}`);
const { problems, questions, rows } = await runRealFeed({
  ...options,
  progress: (line) => console.log(line),
});
process.channel?.unref();
for (const problem of problems) console.log(`  ${problem}`);
const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
console.log(
  `${questions} answers with ${rows} rows, ${took}: ${problems.length === 0 ? "all equal" : "DIFFERENT"}.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
