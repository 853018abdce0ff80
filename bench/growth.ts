import { hotelCode } from "./batches.ts";
import { type BenchCase, made, PUSH_DATES } from "./cases.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { fill } from "./growth-fill.ts";
import { LoadProcess } from "./load-process.ts";
import { type PageFigures, readPages } from "./pages.ts";
import { type StartedService, startService } from "./started-service.ts";

/** Numbers of the first template hotel and of the first copied hotel. */
const TEMPLATES = 800_000;
const COPIES = 810_000;
const TEMPLATE_HOTELS = 8;
const SCATTERED_HOTELS = 64;
const SCATTERED = 805_000;
const PAGES = 300;
const TEMPLATE_RESERVATIONS = 2_000;
const MEASURED_RESERVATIONS = 100;
/** As many hotels as a million versions have, so that changes are spread widely. */
const MEASURED_HOTELS = 160;

/** The cases and rounds that fill the template hotels: nights of inventory, reservations and a change of each. */
const TEMPLATE_CASES: readonly (readonly [BenchCase, rounds: number])[] = [
  [growthCase("inventories-730-unchanged90", PUSH_DATES, TEMPLATE_HOTELS, TEMPLATES), 3],
  [growthCase("reservations-1000-unchanged90", TEMPLATE_RESERVATIONS, TEMPLATE_HOTELS, TEMPLATES), 2],
];
const SCATTERED_CASE: BenchCase = {
  ...growthCase("reservations-64-new", 1_000, SCATTERED_HOTELS, SCATTERED),
  scattered: true,
};
/** The measured cases, at copied hotels in the filled database and at new ones in the empty database. */
const MEASURED: readonly BenchCase[] = [
  growthCase("reservations-100-new", MEASURED_RESERVATIONS, MEASURED_HOTELS, COPIES),
  growthCase("reservations-100-changed", MEASURED_RESERVATIONS, MEASURED_HOTELS, COPIES),
  growthCase("inventories-730-unchanged90", PUSH_DATES, 40, COPIES),
];

function growthCase(name: string, recordsPerHotel: number, hotels: number, firstHotel: number): BenchCase {
  const parts = { recordsPerRound: recordsPerHotel * hotels, hotels, firstHotel, connections: 8 };
  return { ...made(name, parts), name: `${firstHotel === COPIES ? "growth" : "template"}-${name}` };
}

/** The same cases on an empty and a filled database, by round. */
export interface GrowthResult {
  readonly millions: number;
  readonly cases: readonly {
    readonly name: string;
    /** Applied records per second, by round. */
    readonly empty: readonly number[];
    readonly filled: readonly number[];
  }[];
  /** Pages of 1,000 current records: as pushed, and scattered over as many batches. */
  readonly pushed: PageFigures;
  readonly scattered: PageFigures;
}

/**
 * Rounds continue after the template's: changes are newer than the copies' versions, and keys of new records follow
 * theirs (MEASURED_RESERVATIONS per hotel and round).
 */
const FIRST_ROUND = TEMPLATE_RESERVATIONS / MEASURED_RESERVATIONS;

const templatesOf = () => Array.from({ length: TEMPLATE_HOTELS }, (_, at) => TEMPLATES + at);

async function prepareFilled(service: StartedService, load: LoadProcess, versions: number): Promise<number> {
  for (const [benchCase, rounds] of [...TEMPLATE_CASES, [SCATTERED_CASE, 1] as const]) {
    for (let round = 0; round < rounds; round += 1) {
      const prepared = await load.prepare({ benchCase, round });
      await measureContestant(service.contestant, load, benchCase, prepared);
    }
  }
  const codes = templatesOf().map(hotelCode);
  const { rows } = await service.client.query<{ property_id: number }>(
    "select property_id from bellhop.property where property_code = any ($1) order by property_code",
    [codes],
  );
  const templates = rows.map(({ property_id }) => property_id);
  return await fill(service.client, { templates, firstHotel: COPIES, versions });
}

/** Fills a database with this many million versions, then measures alternately on it and on an empty one. */
export async function measureGrowth(millions: number, rounds: number): Promise<GrowthResult> {
  const closers = new Closers();
  try {
    const load = closers.kept(new LoadProcess());
    const empty = closers.kept(await startService("empty"));
    const filled = closers.kept(await startService("filled"));
    const hotels = await prepareFilled(filled, load, millions * 1e6);
    const every = Math.max(1, Math.floor(hotels / PAGES));
    const copies = Array.from({ length: Math.min(PAGES, hotels) }, (_, at) => COPIES + at * every);
    // A warm-up, as of everything that is measured.
    for (let times = 0; times < 12; times += 1) await readPages(filled.service, templatesOf());
    const pushed = await readPages(filled.service, copies);
    const scattered = await readPages(
      filled.service,
      Array.from({ length: SCATTERED_HOTELS }, (_, at) => SCATTERED + at),
    );
    const cases = MEASURED.map(({ name }) => ({ name, empty: [] as number[], filled: [] as number[] }));
    for (let round = 0; round <= rounds; round += 1) {
      for (const [at, benchCase] of MEASURED.entries()) {
        const prepared = await load.prepare({ benchCase, round: round === 0 ? 0 : FIRST_ROUND + round });
        for (const [kind, { contestant }] of [
          ["empty", empty],
          ["filled", filled],
        ] as const) {
          const { appliedPerSecond } = await measureContestant(contestant, load, benchCase, prepared);
          console.error(
            `growth ${millions}, round ${round || "(warm-up)"} ${benchCase.name}: ${kind} ${Math.round(appliedPerSecond)}`,
          );
          if (round > 0) cases[at]?.[kind].push(appliedPerSecond);
        }
      }
    }
    return { millions, cases, pushed, scattered };
  } finally {
    await closers.close();
  }
}
