import type { Resource } from "#contract/resource.ts";

/**
 * How records relate to those of earlier rounds: `new` keys; `changed`: same keys, newer source time, other content;
 * `unchanged90`: newer source time, other content for one in ten, like a nightly push.
 */
export type Variant = "new" | "changed" | "unchanged90";

/** A measured case: batches of one resource, size and variant. */
export interface BenchCase {
  readonly name: string;
  readonly resource: Resource;
  readonly variant: Variant;
  readonly recordsPerBatch: number;
  readonly recordsPerRound: number;
  /** Properties, to which batches are sent in turn; a batch has one property. */
  readonly hotels: number;
  /** Number of the first hotel: cases share no hotels. */
  readonly firstHotel: number;
  /** Connections, each with one request at a time. */
  readonly connections: number;
  readonly gzip: boolean;
  /** Each record of a batch belongs to another hotel. */
  readonly scattered: boolean;
  /**
   * `full`: as fast as responses arrive; `alone`: each batch once the previous one is applied; `paced`: at a share of
   * the rate of the previous case, on schedule.
   */
  readonly mode: "full" | "alone" | "paced";
}

/** Two years of one property, which section 3 of the specification has in one request. */
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
 * Cases with goals have rounds of several seconds per thread, so that V8 has compiled the code after warm-up. The
 * others are short, so that all cases fit into one run.
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

/** `--quick`: a smoke test whose figures are not meaningful. */
const QUICK_DIVISOR = 5;

/** The named cases, or all. Throws for an unknown name. */
export function chooseCases(names: readonly string[], quick: boolean): BenchCase[] {
  const chosen = names.length === 0 ? CASES : CASES.filter(({ name }) => wanted(names).includes(name));
  return chosen.map((benchCase) => (quick ? shortened(benchCase) : benchCase));
}

/** A paced case also needs the case that defines its rate. */
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
