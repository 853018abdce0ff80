import { createHash } from "node:crypto";
import { daysBetween } from "../insight/stay-date.ts";
import type { Backfill } from "./backfill.ts";
import { readFailedRecords } from "./failed-records.ts";
import { missingDates } from "./gaps.ts";
import { type BackfillScene, type ResourceProgress, resourcesOf } from "./progress.ts";

/** The form of the text; another form gets another name, and both stay readable. */
const FORM = "bellhop.backfill/1";
/** So many failed records of a resource are looked at for whether a later one mended them; any beyond count as open. */
const FAILED_LOOKED_AT_MAX = 10_000;
const FAILED_AT_ONCE = 1_000;

/** Dates from one to another, both included. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

/** What a statement says of one resource. */
export interface ResourceStatement
  extends Omit<ResourceProgress, "waitingBatches" | "oldestWaitingAt" | "lastRequestId"> {
  readonly missingDates: readonly DateRange[];
  /** Rejected, held and discarded records of which no later one of the same key was applied. */
  readonly openRecords: number;
}

/** What has come of a backfill, said once and for all. */
export interface Statement {
  readonly form: string;
  readonly backfillId: string;
  readonly clientId: string;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly note: string | null;
  readonly openedAt: string;
  readonly closedAt: string;
  /** Requests up to this id are counted. */
  readonly countedTo: string;
  /** Nothing of what was named is missing. */
  readonly complete: boolean;
  readonly gapsAccepted: boolean;
  readonly resources: readonly ResourceStatement[];
}

/** A statement, the text of it that is signed, and that text's hash. */
export interface WrittenStatement {
  readonly statement: Statement;
  readonly text: string;
  /** SHA-256 of the text's bytes in UTF-8, in hexadecimal. */
  readonly hash: string;
}

/** Dates that follow each other as ranges. */
export function rangesOf(dates: readonly string[]): DateRange[] {
  const ranges: { from: string; to: string }[] = [];
  for (const date of dates) {
    const last = ranges.at(-1);
    if (last !== undefined && daysBetween(last.to, date) === 1) last.to = date;
    else ranges.push({ from: date, to: date });
  }
  return ranges;
}

function isComplete({ missingRecords, missingDates: dates, openRecords }: ResourceStatement): boolean {
  return (missingRecords ?? 0) === 0 && dates.length === 0 && openRecords === 0;
}

async function countOpenRecords({ client, asked }: BackfillScene, of: ResourceProgress): Promise<number> {
  const { rejected, quarantined, discarded } = of.counts;
  const failed = rejected + quarantined + discarded;
  if (failed === 0) return 0;
  let looked = 0;
  let mended = 0;
  let after: { requestId: string; index: number } | null = null;
  while (looked < FAILED_LOOKED_AT_MAX) {
    const some: Awaited<ReturnType<typeof readFailedRecords>> = await readFailedRecords(
      client,
      { ...asked, resource: of.resource },
      after,
      FAILED_AT_ONCE,
    );
    looked += some.length;
    mended += some.filter((record) => record.mended).length;
    const last = some.at(-1);
    if (last === undefined || some.length < FAILED_AT_ONCE) break;
    after = { requestId: last.requestId, index: last.index };
  }
  return failed - mended;
}

/**
 * Writes the statement of a backfill as of a settled request, from the log, the outcomes and the versions of that snapshot: the
 * same text at any later time. `closedAt` is when it was first written.
 */
export async function writeStatement(
  backfill: Backfill,
  scene: BackfillScene,
  closedAt: string,
  gapsAccepted: boolean,
): Promise<WrittenStatement> {
  const { client, asked } = scene;
  const { clientCode, propertyCode, note } = backfill.manifest;
  const resources: ResourceStatement[] = [];
  for (const of of await resourcesOf(scene)) {
    const { waitingBatches: _w, oldestWaitingAt: _o, lastRequestId: _l, ...told } = of;
    resources.push({
      ...told,
      missingDates: rangesOf(await missingDates(client, asked, of)),
      openRecords: await countOpenRecords(scene, of),
    });
  }
  const complete = resources.every(isComplete);
  const statement: Statement = {
    ...{ form: FORM, backfillId: backfill.backfillId, clientId: backfill.clientId, clientCode, propertyCode },
    ...{ note, openedAt: backfill.openedAt, closedAt, countedTo: asked.upTo },
    ...{ complete, gapsAccepted: gapsAccepted && !complete, resources },
  };
  const text = JSON.stringify(statement);
  return { statement, text, hash: createHash("sha256").update(text).digest("hex") };
}

/** What is missing, in a sentence for each resource that lacks something. */
export function gapsInWords({ resources }: Statement): string {
  return resources
    .filter((of) => !isComplete(of))
    .map(({ resource, missingRecords, missingDates: dates, openRecords }) => {
      const days = dates.reduce((sum, { from, to }) => sum + daysBetween(from, to) + 1, 0);
      const parts = [
        ...((missingRecords ?? 0) > 0 ? [`${missingRecords} records fewer than expected`] : []),
        ...(days > 0 ? [`${days} dates without a record`] : []),
        ...(openRecords > 0 ? [`${openRecords} records rejected, held or discarded`] : []),
      ];
      return `${resource}: ${parts.join(", ")}`;
    })
    .join("; ");
}
