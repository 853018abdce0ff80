import type pg from "pg";
import { type Finding, findingsOf, readHeldOf } from "./findings.ts";
import { type NightReservation, readNightReservations } from "./night-rooms.ts";
import { laidOutOf } from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { addDays, pointInTimeOf, QuestionTooLarge, type StayQuestion } from "./question.ts";
import { NightSums, type ReconciledNight, reconcile } from "./reconciliation.ts";

const NIGHTS_AROUND = 31;
const FINDINGS_MAX = 100;
/** Rows of the nights around that are laid out night by night. */
const LAID_OUT_MAX = 500_000;

/** One night, with everything behind its difference. */
export interface NightReconciliation {
  readonly night: ReconciledNight;
  readonly roomTypes: readonly ReconciledNight[];
  /** What may explain the differences, the likeliest first; at most 100. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** Every reservation that has the night, also those that do not count, in the order of ids. */
  readonly reservations: readonly NightReservation[];
}

/**
 * Takes one night apart: what inventory reports and what reservations come to by room type, the reservations and records
 * behind it, and what may explain the difference. By the clock of receipt, records that were held then are those that are held.
 */
export async function reconcileNight(
  client: pg.ClientBase,
  question: Pick<StayQuestion, "property" | "clock" | "asOf">,
  stayDate: string,
  queryContext: QueryContext,
): Promise<NightReconciliation> {
  const { property } = question;
  const { labels } = queryContext;
  const at = pointInTimeOf(question);
  const around = { from: addDays(stayDate, -NIGHTS_AROUND), to: addDays(stayDate, NIGHTS_AROUND) };
  if ((await laidOutOf(client, property, { first: around.from, last: around.to }, true)) > LAID_OUT_MAX)
    throw new QuestionTooLarge(around.from, around.to);
  const { blocks, masters, nights } = await reconcile(client, question, around, queryContext);
  const sums = new Map<string, NightSums>();
  for await (const one of nights) sums.set(one.night, one);
  const reservations = await readNightReservations(client, property, stayDate, at, labels.reservations);
  const held = await readHeldOf(client, property, stayDate, at, (label) =>
    labels.deducts("reservations", label),
  );
  const asked = sums.get(stayDate) ?? new NightSums(stayDate);
  const roomTypes = asked.byRoomType();
  const findings = findingsOf(
    {
      night: stayDate,
      reservations,
      held,
      blocks: blocks.get(stayDate) ?? [],
      masters,
      report: asked.report,
      differenceOf: (night, roomType) => sums.get(night)?.differenceOf(roomType),
    },
    roomTypes.map(({ roomType = null }) => roomType),
  );
  return {
    night: asked.total(),
    roomTypes,
    findings: findings.slice(0, FINDINGS_MAX),
    findingCount: findings.length,
    reservations,
  };
}

/** A night of a property that nobody has ever named. */
export function nothingOf(stayDate: string): NightReconciliation {
  const night = new NightSums(stayDate).total();
  return { night, roomTypes: [], findings: [], findingCount: 0, reservations: [] };
}
