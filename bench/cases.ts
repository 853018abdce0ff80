import type { Resource } from "../src/contract/resource.ts";

/**
 * What a round's records are to those of the rounds before: `new` keys; `changed`: the same keys with a newer source time
 * and other content; `unchanged90`: a newer source time for all, other content for one in ten, as a nightly push is.
 */
export type Variant = "new" | "changed" | "unchanged90";

/** One thing that is measured: batches of one resource, size and variant, so many records a round. */
export interface BenchCase {
  readonly name: string;
  readonly resource: Resource;
  readonly variant: Variant;
  readonly recordsPerBatch: number;
  readonly recordsPerRound: number;
  /** Properties that the batches go to in turn; a batch is of one. */
  readonly hotels: number;
  /** Number of the first: no two cases share a hotel. */
  readonly firstHotel: number;
  /** Connections, each with one request at a time: a partner waits for its answer before it sends on. */
  readonly connections: number;
  readonly gzip: boolean;
  /** Measured beside the service, the limits and the good team. */
  readonly everyPeer: boolean;
}

/** Two years of one property, as spec section 3 has them pushed in one request. */
export const PUSH_DATES = 730;
export const PUSH_ROOM_TYPES = 12;
const HOTELS = 12;
const HOTELS_PER_CASE_MAX = 10_000;
let casesMade = 0;

function made(name: string, parts: Partial<BenchCase> & Pick<BenchCase, "recordsPerRound">): BenchCase {
  const [resource = "", perBatch, variant] = name.split("-");
  const firstHotel = casesMade * HOTELS_PER_CASE_MAX;
  casesMade += 1;
  return {
    name,
    resource: resource as Resource,
    variant: variant as Variant,
    recordsPerBatch: Number(perBatch),
    hotels: HOTELS,
    firstHotel,
    connections: 16,
    gzip: false,
    everyPeer: false,
    ...parts,
  };
}

/**
 * Rounds are as long as it takes for an apply transaction to be a small part of one, and short enough that all cases,
 * five rounds of each and a warm-up fit in a quarter of an hour on two cores.
 */
export const CASES: readonly BenchCase[] = [
  made("reservations-1-new", { recordsPerRound: 8_000, connections: 64, everyPeer: true }),
  made("reservations-100-new", { recordsPerRound: 30_000, everyPeer: true }),
  made("reservations-100-changed", { recordsPerRound: 30_000 }),
  made("reservations-100-unchanged90", { recordsPerRound: 30_000 }),
  made("reservations-1000-new", { recordsPerRound: 30_000, connections: 8, everyPeer: true }),
  made("reservations-100-new-gzip", { recordsPerRound: 20_000, gzip: true }),
  made("reservations-100-new-1-hotel", { recordsPerRound: 20_000, hotels: 1 }),
  made("reservations-100-new-1000-hotels", { recordsPerRound: 20_000, hotels: 1_000 }),
  made("inventories-730-new", { recordsPerRound: 24 * PUSH_DATES, hotels: 24, connections: 8 }),
  made("inventories-730-unchanged90", { recordsPerRound: 40 * PUSH_DATES, hotels: 40, connections: 8 }),
  made("groups-100-new", { recordsPerRound: 10_000, connections: 8 }),
];

/** `--quick`: enough to see that everything works, too little for a figure to be quoted. */
const QUICK_DIVISOR = 5;

/** The cases of these names, all of them when there are none; throws for a name that is none of theirs. */
export function chooseCases(names: readonly string[], quick: boolean): BenchCase[] {
  const chosen = names.length === 0 ? CASES : names.map(caseOf);
  return chosen.map((benchCase) => (quick ? shortened(benchCase) : benchCase));
}

function caseOf(name: string): BenchCase {
  const found = CASES.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw new Error(`There is no case ${name}: ${CASES.map((each) => each.name).join(", ")}.`);
  return found;
}

function shortened(benchCase: BenchCase): BenchCase {
  const batches = benchCase.recordsPerRound / benchCase.recordsPerBatch / QUICK_DIVISOR;
  return { ...benchCase, recordsPerRound: Math.max(1, Math.floor(batches)) * benchCase.recordsPerBatch };
}
