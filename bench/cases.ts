import type { Resource } from "#contract/resource.ts";

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
  /** Each record of a batch is of another hotel, of which a batch has one: as many batches as a hotel has records. */
  readonly scattered: boolean;
  /**
   * `full`: as fast as is answered; `alone`: a batch at a time, each when the one before was applied; `paced`: at a share
   * of the rate of the case before it, requests sent when they are due.
   */
  readonly mode: "full" | "alone" | "paced";
}

/** Two years of one property, as spec section 3 has them pushed in one request. */
export const PUSH_DATES = 730;
export const PUSH_ROOM_TYPES = 12;
const HOTELS = 12;
const HOTELS_PER_CASE_MAX = 10_000;
let casesMade = 0;

export function made(
  name: string,
  parts: Partial<BenchCase> & Pick<BenchCase, "recordsPerRound">,
): BenchCase {
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
    scattered: false,
    mode: "full",
    ...parts,
  };
}

/**
 * Rounds are as long as it takes for V8 to have compiled what the service runs, once the warm-up is over (seconds of each of
 * its threads), in the cases that goals are about. The others are short, so that all can be run at once.
 */
export const CASES: readonly BenchCase[] = [
  made("reservations-1-new", { recordsPerRound: 20_000, connections: 64 }),
  made("reservations-1-new-paced", { recordsPerRound: 10_000, connections: 64, mode: "paced" }),
  made("reservations-100-new", { recordsPerRound: 120_000 }),
  made("reservations-100-changed", { recordsPerRound: 60_000 }),
  made("reservations-100-unchanged90", { recordsPerRound: 96_000 }),
  made("reservations-1000-new", { recordsPerRound: 20_000, connections: 8 }),
  made("reservations-100-new-gzip", { recordsPerRound: 10_000, gzip: true }),
  made("reservations-100-new-1-hotel", { recordsPerRound: 10_000, hotels: 1 }),
  made("reservations-20-new-1000-hotels", { recordsPerRound: 20_000, hotels: 1_000 }),
  made("inventories-730-new", { recordsPerRound: 16 * PUSH_DATES, hotels: 16, connections: 8 }),
  made("inventories-730-unchanged90", { recordsPerRound: 160 * PUSH_DATES, hotels: 40, connections: 8 }),
  made("inventories-730-new-alone", {
    recordsPerRound: 8 * PUSH_DATES,
    hotels: 8,
    connections: 1,
    mode: "alone",
  }),
  made("inventories-730-unchanged90-alone", {
    recordsPerRound: 8 * PUSH_DATES,
    hotels: 8,
    connections: 1,
    mode: "alone",
  }),
  made("groups-100-new", { recordsPerRound: 10_000, connections: 8 }),
];

/** `--quick`: enough to see that everything works, too little for a figure to be quoted. */
const QUICK_DIVISOR = 5;

/** The cases of these names, all of them when there are none; throws for a name that is none of theirs. */
export function chooseCases(names: readonly string[], quick: boolean): BenchCase[] {
  const chosen = names.length === 0 ? CASES : CASES.filter(({ name }) => wanted(names).includes(name));
  return chosen.map((benchCase) => (quick ? shortened(benchCase) : benchCase));
}

/** A paced case needs the one that its pace is taken from. */
function wanted(names: readonly string[]): string[] {
  const unknown = names.find((name) => !CASES.some((known) => known.name === name));
  if (unknown !== undefined)
    throw new Error(`There is no case ${unknown}: ${CASES.map(({ name }) => name).join(", ")}.`);
  return names.flatMap((name) => [name, name.replace(/-paced$/, "")]);
}

function shortened(benchCase: BenchCase): BenchCase {
  const batches = benchCase.recordsPerRound / benchCase.recordsPerBatch / QUICK_DIVISOR;
  return { ...benchCase, recordsPerRound: Math.max(1, Math.floor(batches)) * benchCase.recordsPerBatch };
}
