import type { Resource } from "../src/contract/resource.ts";

/** One thing that is measured: batches of one resource and size, so many records a round. */
export interface BenchCase {
  readonly name: string;
  readonly resource: Resource;
  readonly recordsPerBatch: number;
  readonly recordsPerRound: number;
  /** Connections, each with one request at a time: a partner waits for its answer before it sends on. */
  readonly connections: number;
  /** `feed`: the workload of real bookings in its order; `push`: a property's whole inventory in one batch. */
  readonly source: "feed" | "push";
}

/** Two years of one property, as spec section 3 has them pushed in one request. */
export const PUSH_DATES = 730;
export const PUSH_ROOM_TYPES = 12;

/**
 * The rounds are long enough that an apply transaction (2,000 records) is a tenth of one, and short enough that all
 * cases, three rounds of each and a warm-up fit in six minutes on two cores.
 */
export const CASES: readonly BenchCase[] = [
  {
    name: "reservations-1",
    resource: "reservations",
    recordsPerBatch: 1,
    recordsPerRound: 8_000,
    connections: 64,
    source: "feed",
  },
  {
    name: "reservations-100",
    resource: "reservations",
    recordsPerBatch: 100,
    recordsPerRound: 20_000,
    connections: 16,
    source: "feed",
  },
  {
    name: "reservations-1000",
    resource: "reservations",
    recordsPerBatch: 1_000,
    recordsPerRound: 20_000,
    connections: 8,
    source: "feed",
  },
  {
    name: "inventories-730",
    resource: "inventories",
    recordsPerBatch: PUSH_DATES,
    recordsPerRound: 20 * PUSH_DATES,
    connections: 8,
    source: "push",
  },
  {
    name: "groups-100",
    resource: "groups",
    recordsPerBatch: 100,
    recordsPerRound: 2_000,
    connections: 8,
    source: "feed",
  },
];

/** `--quick`: enough to see that everything works, too little for a figure to be quoted. */
const QUICK_DIVISOR = 5;

/** The cases of these names, all of them when there are none; throws for a name that is none of theirs. */
export function chooseCases(names: readonly string[], quick: boolean): BenchCase[] {
  const chosen = names.length === 0 ? CASES : names.map(caseOf);
  return chosen.map((benchCase) => (quick ? shortened(benchCase) : benchCase));
}

export function caseOf(name: string): BenchCase {
  const found = CASES.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw new Error(`There is no case ${name}: ${CASES.map((each) => each.name).join(", ")}.`);
  return found;
}

function shortened(benchCase: BenchCase): BenchCase {
  const batches = benchCase.recordsPerRound / benchCase.recordsPerBatch / QUICK_DIVISOR;
  return { ...benchCase, recordsPerRound: Math.max(1, Math.floor(batches)) * benchCase.recordsPerBatch };
}
