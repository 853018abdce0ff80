import { addDays, datesFrom } from "#contract/dates.ts";
import { insightItems } from "../support/insight-fixture.ts";
import { type NaiveBooks, type NaiveReservation, naiveBooks, unitsOf } from "../support/naive-figures.ts";
import { apply } from "../support/read-fixture.ts";
import type { TestService } from "../support/service.ts";
import { SeededRandom } from "./seeded-random.ts";

/** Nights of a set, none of which another set touches. */
const SET_NIGHTS = 14;
/** Sets of one property; their nights end before 2200. */
const SETS_OF_PROPERTY = 2_500;
const SETS_OF_QUESTION = 78;
const BATCH_RECORDS = 5_000;
const FIRST_NIGHT = "2026-01-01";

const DEDUCTS: Readonly<Record<string, boolean>> = { CONFIRMED: true, "NO SHOW": false, CANCELLED: false };
const deducts = (status: string): boolean | null => DEDUCTS[status] ?? null;

type Draw = SeededRandom;
const pick = <Value>(random: Draw, values: readonly Value[]): Value =>
  values[below(random, values.length)] as Value;
const below = (random: Draw, count: number) => random.between(0, count - 1);

function drawStay(random: Draw, base: string): NaiveReservation["roomStays"][number] {
  const arrival = 1 + below(random, 6);
  const amount = () => pick(random, [undefined, "100", "60.50", "0", "-3.10"]);
  return {
    arrivalDate: addDays(base, arrival),
    departureDate: addDays(base, arrival + below(random, 5)),
    roomTypeCode: pick(random, ["DLX", "STE"]),
    currencyCode: "EUR",
    numberOfAdults: pick(random, [undefined, 1, 2, -1]),
    numberOfChildren: pick(random, [undefined, 1]),
    rates: Array.from({ length: below(random, 3) }, () => ({
      startDate: pick(random, [undefined, addDays(base, 1 + below(random, 5))]),
      rateValue: amount(),
      grossRateValue: amount(),
    })),
  };
}

function drawReservation(random: Draw, base: string, reservationId: string): NaiveReservation {
  const roomStays = Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => drawStay(random, base));
  if (below(random, 6) === 0) roomStays.push({ ...(roomStays[0] as (typeof roomStays)[number]) });
  const daily = Array.from({ length: pick(random, [0, 0, 3, 6]) }, () => ({
    occupancyDate: addDays(base, below(random, SET_NIGHTS)),
    netRoomRevenue: pick(random, [undefined, "80", "12.34", "0.00"]),
  }));
  return {
    reservationId,
    status: pick(random, ["CONFIRMED", "CONFIRMED", "CONFIRMED", "NO SHOW", "CANCELLED", "ON HOLD"]),
    numberOfRooms: pick(random, [undefined, 0, 1, 1, 2, 3, -1]),
    shareId: pick(random, [undefined, undefined, `${base} A`, `${base} A`, `${base} B`]),
    roomStays,
    stayRevenue: { daily },
  };
}

/** A set: what its reservations are, and all their versions in any order. */
interface FigureSet {
  readonly base: string;
  readonly current: readonly NaiveReservation[];
  readonly versions: readonly object[];
}

function drawSet(random: Draw, base: string, propertyCode: string): FigureSet {
  const current: NaiveReservation[] = [];
  const versions: object[] = [];
  for (let number = 1 + below(random, 5); number > 0; number -= 1) {
    const id = `${base} ${number}`;
    // Moves, changes of the share and cancellations are earlier versions of anything.
    const drawn = Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => drawReservation(random, base, id));
    for (const [at, version] of drawn.entries())
      versions.push({
        clientCode: "ACME",
        propertyCode,
        lastModifiedDateTime: `2025-01-01T00:00:0${at}Z`,
        ...version,
      });
    current.push(drawn.at(-1) as NaiveReservation);
  }
  return { base, current, versions };
}

const asUnits = (text: unknown) => (text == null ? null : unitsOf(String(text)));

/** The figures of an item as text, in the order of `expectedText`; 0 and null revenue are not distinguished. */
function answeredText(item: Readonly<Record<string, unknown>> | undefined): string {
  const of = (name: string) => Number(item?.[name] ?? 0);
  const amount = (name: string) => String(asUnits(item?.[name]) ?? 0n);
  return [
    ...["rooms", "unmappedRooms", "adults", "children", "dayUseRooms"].map(of),
    ...["roomRevenue", "grossRoomRevenue", "dayUseRevenue", "feeRevenue", "outsideStayRevenue"].map(amount),
  ].join(" ");
}

function expectedText(books: NaiveBooks): string {
  const { rooms, unmapped, adults, children, dayUseRooms, net, gross, dayUse, fee, outside } = books;
  return [rooms, unmapped, adults, children, dayUseRooms, net ?? 0n, gross ?? 0n, dayUse, fee, outside].join(
    " ",
  );
}

async function compare(
  service: TestService,
  propertyCode: string,
  sets: readonly FigureSet[],
): Promise<string[]> {
  const problems: string[] = [];
  for (let at = 0; at < sets.length; at += SETS_OF_QUESTION) {
    const some = sets.slice(at, at + SETS_OF_QUESTION);
    const [from, last] = [some[0]?.base ?? "", some.at(-1)?.base ?? ""];
    const items = await insightItems(service, "on-the-books", {
      clientCode: "ACME",
      propertyCode,
      from,
      to: addDays(last, SET_NIGHTS - 1),
      limit: "10000",
    });
    const byNight = new Map(items.map((item) => [String(item["stayDate"]), item]));
    if (byNight.size !== items.length) problems.push(`${propertyCode} ${from}: a night has two items`);
    for (const { base, current } of some)
      for (const date of datesFrom(base, SET_NIGHTS)) {
        const [answered, books] = [byNight.get(date), naiveBooks(current, date, deducts)];
        const isNull = books.net === null ? answered?.["roomRevenue"] == null : true;
        if (answeredText(answered) === expectedText(books) && isNull) continue;
        problems.push(
          `${propertyCode} ${date}: ${answeredText(answered)} instead of ${expectedText(books)}: ${JSON.stringify(current)}`,
        );
      }
  }
  return problems;
}

/**
 * Draws sets of shares, overlapping stays, moves, day use and cancellations, applies their versions in random order, and compares on the books
 * with the naive model. Returns the differences.
 */
export async function runFigureSets(
  service: TestService,
  { sets: count, seed, shown }: { readonly sets: number; readonly seed: number; shown?(sets: number): void },
): Promise<string[]> {
  const random = SeededRandom.stream(seed, 1);
  const problems: string[] = [];
  for (let done = 0; done < count; done += SETS_OF_PROPERTY) {
    const propertyCode = `SETS${done}`;
    const sets = Array.from({ length: Math.min(SETS_OF_PROPERTY, count - done) }, (_, at) =>
      drawSet(random, addDays(FIRST_NIGHT, at * SET_NIGHTS), propertyCode),
    );
    const versions = sets
      .flatMap((set) => set.versions)
      .map((version) => ({ version, order: random.between(0, 1_000_000_000) }))
      .sort((one, other) => one.order - other.order)
      .map(({ version }) => version);
    for (let at = 0; at < versions.length; at += BATCH_RECORDS)
      await apply(service, "reservations", versions.slice(at, at + BATCH_RECORDS));
    problems.push(...(await compare(service, propertyCode, sets)));
    shown?.(done + sets.length);
  }
  return problems;
}
