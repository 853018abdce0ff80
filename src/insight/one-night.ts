import { addDays } from "#contract/dates.ts";
import type { Position } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { NightsAround } from "./causes.ts";
import { count, list, type ValuesOf } from "./fields.ts";
import { FINDING } from "./finding.ts";
import { findingsOf } from "./findings.ts";
import { type Asked, insight } from "./insight.ts";
import { readNightDetails } from "./night-details.ts";
import { differencesAround, listedAround, pickedUpOf } from "./night-differences.ts";
import { NIGHT_RESERVATION_FIELDS, type NightReservation, readNightReservations } from "./night-rooms.ts";
import { LAID_OUT_MAX, laidOutOf } from "./paging.ts";
import { NIGHT_PARAMETERS } from "./parameters.ts";
import { pointInTimeOf, QuestionTooLarge } from "./question.ts";
import { NIGHT_EXAMPLE, NIGHT_FIELDS, NIGHT_ROOM_TYPES_MAX, NightSums, reconcile } from "./reconciliation.ts";
import { readWithheldRecords } from "./withheld-records.ts";

/** Nights around that are compared: fewer if they expand to too many rows. */
const NIGHTS_AROUND = [31, 7, 0];
const FINDINGS_MAX = 100;

const FIELDS = {
  ...NIGHT_FIELDS,
  findings: list("Possible explanations of the difference, most likely first.", FINDINGS_MAX, FINDING),
  findingCount: count("The number of findings; the answer lists the first 100.", 0),
};

/** One night and every reservation that has it, including those that do not count, by id. */
export type NightReconciliation = ValuesOf<typeof FIELDS> & {
  readonly reservations: readonly NightReservation[];
};

/** The widest window around a night that may be expanded. Throws QuestionTooLarge if even the night alone may not. */
async function windowAround({ client, question: { property } }: Asked, stayDate: string) {
  for (const around of NIGHTS_AROUND) {
    const window = { first: addDays(stayDate, -around), last: addDays(stayDate, around) };
    if ((await laidOutOf(client, property, window, { withBlocks: true })) <= LAID_OUT_MAX)
      return { window, around: new NightsAround(stayDate, around) };
  }
  throw new QuestionTooLarge({ first: stayDate, last: stayDate });
}

/**
 * Explains one night: reported and rebuilt rooms by room type, the reservations and records behind them, and possible explanations of the
 * difference, which are sought after the transaction. With the receipt clock, lists the records that were quarantined then.
 */
async function reconcileNight(of: Asked, stayDate: string): Promise<() => Promise<NightReconciliation>> {
  const { client, question, queryContext } = of;
  const { property } = question;
  const { statuses } = queryContext;
  const at = pointInTimeOf(question);
  const { window, around } = await windowAround(of, stayDate);
  const { settled, blocks, masters, nights } = await reconcile(client, question, window, queryContext);
  const sums = new Map<string, NightSums>();
  for await (const one of nights) sums.set(one.night, one);
  const reservations = await readNightReservations(client, property, stayDate, at, statuses);
  const asked = sums.get(stayDate) ?? new NightSums(stayDate);
  const byRoomType = await Array.fromAsync(asked.byRoomType(new WorkPauses(), NIGHT_ROOM_TYPES_MAX));
  const roomTypes = byRoomType.flat();
  const answer = { night: asked.total(), roomTypes, reservations };
  const differs = (roomType: string | null) => (asked.differenceOf(roomType) ?? 0) !== 0;
  const differing = roomTypes.flatMap(({ roomType = null }) => (differs(roomType) ? [roomType] : []));
  if (differing.length === 0) return async () => ({ ...answer, findings: [], findingCount: 0 });
  const { report } = asked;
  const counted = { countedAt: report?.source_time, differs };
  const found = await readNightDetails(client, property, stayDate, at, counted, statuses, reservations);
  const evidence = {
    around,
    report,
    reservations,
    details: found.details,
    changed: found.changed,
    withheld: await readWithheldRecords(client, question, stayDate, at, statuses, found.once),
    blocks,
    masters,
    pickedUp: await pickedUpOf(settled),
    differencesOf: differencesAround(around.nights, sums),
    countedAt: (night: string) => sums.get(night)?.report?.source_time,
    isListed: listedAround([...sums.values()].map((one) => one.report)),
  };
  return async () => ({ ...answer, ...(await findingsOf(evidence, differing)) });
}

/** A page of a night's reservations; the position is an offset. The first page has the room types. */
function pageOf({ reservations, ...of }: NightReconciliation, start: Position | null, limit: number) {
  const end = Number(start?.[0] ?? 0) + limit;
  const items = reservations.slice(end - limit, end);
  const beside = start === null ? of : { ...of, roomTypes: [] };
  return { items, next: end < reservations.length ? [end] : null, beside };
}

export const night = insight({
  name: "reconciliation/night",
  operationId: "getReconciledNight",
  summary: "Explain one stay date",
  description:
    "The reservations of a night, and findings that may explain its difference. Every page has all findings, the first one the room types; CSV has the reservations.",
  parameters: NIGHT_PARAMETERS,
  item: {
    name: "NightReservationItem",
    description: "A reservation that includes the night.",
    fields: NIGHT_RESERVATION_FIELDS,
    notInCsv: ["late"],
  },
  page: {
    name: "NightReconciliationPage",
    description: "The explanation of one night, and a page of its reservations.",
    fields: FIELDS,
    example: { ...NIGHT_EXAMPLE, findings: [], findingCount: 0 },
    itemsName: "reservations",
  },
  position: [(part) => typeof part === "number" && part > 0],
  nothing: (parameters) => {
    const night = new NightSums(parameters.stayDate).total();
    return { items: [], next: null, beside: { night, roomTypes: [], findings: [], findingCount: 0 } };
  },
  answer: async (asked) => {
    const explain = await reconcileNight(asked, asked.parameters.stayDate);
    return async () => pageOf(await explain(), asked.start, asked.limit);
  },
});
