/**
 * `node bench/ledger-price.ts [--records 4000] [--pairs 12] [--kind new|changed|real|day]`: what share of its throughput apply keeps with
 * the stay-night ledger (docs/decisions/0012). A backlog is drained by one applier again and again, with the ledger and without.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type Cost, DrainedApplier } from "./drained-applier.ts";
import { hotelDays, realBookings } from "./ledger-feeds.ts";
import { changedReservations, type Load, newReservations } from "./ledger-loads.ts";
import { makeLedgerSwitchable, switchLedger } from "./ledger-switch.ts";
import { machineLine, machineOf } from "./machine.ts";
import { median, medianInterval } from "./statistics.ts";

const USAGE = `node bench/ledger-price.ts [--records 4000] [--pairs 12] [--kind new|changed|real|day ...]

What share of its throughput apply keeps with the stay-night ledger, by one applier that drains backlogs with it and without.
Linux only. Kinds, by default all:
  new      reservations that nobody has heard of
  changed  reservations of which nothing of the nights changes, a price, a rate code, the status
  real     the lives of real bookings as they unfold: booked, changed, cancelled, arrived, departed in their own proportion
  day      days of hotels: a nightly push of 730 dates of 12 room types, a tenth of it changed, and 300 records of real bookings

  --records N   of a drain (of day: four hotels' day)
  --pairs N     drains of each kind with the ledger and without, which of them first in turn, after three pairs that are not counted`;

const values = readOptions(USAGE, {
  records: { type: "string", default: "4000" },
  pairs: { type: "string", default: "12" },
  kind: { type: "string", multiple: true, default: ["new", "changed", "real", "day"] },
});

const RECORDS = Number(values.records);
const PAIRS = Number(values.pairs);
/** The sources are compiled while these run. */
const WARM_UP_PAIRS = 3;

const KINDS: Readonly<Record<string, () => Load[]>> = {
  new: () => [newReservations(RECORDS)],
  changed: () => changedReservations(RECORDS),
  real: () => [realBookings(RECORDS, PAIRS)],
  day: () => [hotelDays(PAIRS)],
};

interface Pair {
  readonly on: Cost;
  readonly off: Cost;
}

type Measure = (cost: Cost) => number;

const all: Measure = ({ node, postgres }) => node + postgres;
const clock: Measure = (cost) => cost.clock;

async function measure(load: Load): Promise<Pair[]> {
  const applier = await DrainedApplier.open();
  const drain = (pair: number, isOn: boolean) => {
    switchLedger(isOn);
    return applier.drain(load.batchesOf({ pair, isOn }));
  };
  const pairs: Pair[] = [];
  for (let pair = -WARM_UP_PAIRS; pair < PAIRS; pair += 1) {
    const isOnFirst = pair % 2 === 0;
    const first = await drain(pair, isOnFirst);
    const second = await drain(pair, !isOnFirst);
    if (pair >= 0) pairs.push(isOnFirst ? { on: first, off: second } : { on: second, off: first });
  }
  await applier.close();
  return pairs;
}

const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((left, right) => left - right);
const medianOf = (numbers: readonly number[]): number => median(ascending(numbers));
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** The share of throughput that is kept: of all drains together, the median of pairs with its interval, of the least of each side. */
function keptBy(measureOf: Measure, pairs: readonly Pair[]): string {
  const [on, off] = [pairs.map((pair) => measureOf(pair.on)), pairs.map((pair) => measureOf(pair.off))];
  const sum = (costs: readonly number[]) => costs.reduce((left, right) => left + right, 0);
  const shares = ascending(off.map((cost, at) => cost / (on[at] as number)));
  const { from, to } = medianInterval(shares);
  const ofPairs = `of pairs ${percent(median(shares))} [${percent(from)} to ${percent(to)}]`;
  return `in all ${percent(sum(off) / sum(on))}, ${ofPairs}, by the least ${percent(Math.min(...off) / Math.min(...on))}`;
}

function report({ name }: Load, pairs: readonly Pair[]): void {
  const shown = (costs: readonly Cost[]) => {
    const [node, postgres] = [costs.map((cost) => cost.node), costs.map((cost) => cost.postgres)];
    const least = ascending(costs.map(all))[0]?.toFixed(1);
    const rate = Math.round(1_000_000 / medianOf(costs.map(clock)));
    return `${medianOf(node).toFixed(1)} + ${medianOf(postgres).toFixed(1)} (least ${least}), ${rate}/s`;
  };
  const [off, on] = [pairs.map((pair) => pair.off), pairs.map((pair) => pair.on)];
  console.log(`${name}: off ${shown(off)}; on ${shown(on)}; µs of Node + PostgreSQL a record`);
  console.log(`  kept by CPU ${keptBy(all, pairs)}`);
  console.log(`  kept by the clock ${keptBy(clock, pairs)}`);
}

makeLedgerSwitchable();
console.log(machineLine(machineOf()));
for (const kind of values.kind as readonly string[]) {
  const loads = KINDS[kind]?.();
  if (loads === undefined) throw new Error(`--kind is one of ${Object.keys(KINDS).join(", ")}.`);
  for (const load of loads) report(load, await measure(load));
}
