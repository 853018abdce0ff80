import type pg from "pg";
import { type Finding, findingsOf, readHeldOf } from "./findings.ts";
import { type NightReservation, readNightReservations } from "./night-rooms.ts";
import { laidOutOf } from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { addDays, pointInTimeOf, QuestionTooLarge, type StayQuestion } from "./question.ts";
import { type ReconciledNight, readSources, reconcile } from "./reconciliation.ts";

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
  const at = pointInTimeOf(question);
  const around = { from: addDays(stayDate, -NIGHTS_AROUND), to: addDays(stayDate, NIGHTS_AROUND) };
  if ((await laidOutOf(client, property, { first: around.from, last: around.to }, true)) > LAID_OUT_MAX)
    throw new QuestionTooLarge(around.from, around.to);
  const sources = await readSources(client, property, around, at, queryContext);
  const differences = new Map<string, number>();
  const keyOf = (night: string, roomType: string | null) => JSON.stringify([night, roomType]);
  const byType = reconcile(sources, true);
  for (const { stayDate: night, roomType = null, difference } of byType)
    if (difference !== null) differences.set(keyOf(night, roomType), difference);
  const reported = new Set(sources.reported.map(({ night }) => night));
  const reservations = await readNightReservations(
    ...([client, property, stayDate] as const),
    ...([at, queryContext.labels.reservations] as const),
  );
  const held = await readHeldOf(client, property, stayDate, at, (label) =>
    queryContext.labels.deducts("reservations", label),
  );
  const roomTypes = byType.filter((one) => one.stayDate === stayDate);
  const findings = findingsOf(
    {
      night: stayDate,
      reservations,
      held,
      blocks: sources.blocks,
      masters: sources.masters,
      reported: sources.reported.filter(({ night }) => night === stayDate),
      // A room type that is neither reported nor booked on a night that is reported does not differ.
      differenceOf: (night, roomType) =>
        differences.get(keyOf(night, roomType)) ?? (reported.has(night) ? 0 : undefined),
    },
    roomTypes.map(({ roomType = null }) => roomType),
  );
  const night = reconcile(sources, false).find((one) => one.stayDate === stayDate);
  if (night === undefined) throw new Error(`The night ${stayDate} is not among those around it.`);
  return {
    night,
    roomTypes,
    findings: findings.slice(0, FINDINGS_MAX),
    findingCount: findings.length,
    reservations,
  };
}

/** A night of a property that nobody has ever named. */
export function nothingOf(stayDate: string): NightReconciliation {
  const nothing = { from: stayDate, to: stayDate, reported: [], settled: [], blocks: [], masters: new Map() };
  const [night] = reconcile(nothing, false);
  if (night === undefined) throw new Error(`The night ${stayDate} is none.`);
  return { night, roomTypes: [], findings: [], findingCount: 0, reservations: [] };
}
