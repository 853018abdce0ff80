import { createHash } from "node:crypto";
import { daysBetween } from "#contract/dates.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { type Backfill, type DateRange, daysIn } from "./backfill.ts";
import { missingDates, readFailedRecords } from "./gaps.ts";
import { type BackfillQueryContext, type ResourceProgress, resourcesOf } from "./progress.ts";

/** Name of the statement's format. Another format needs another name; both must stay readable. */
const FORM = "bellhop.backfill/1";
/** Failed records per resource that are checked for a later version; any beyond count as open. */
const FAILED_LOOKED_AT_MAX = 10_000;

export interface ResourceStatement extends Omit<ResourceProgress, "waitingBatches" | "oldestWaitingAt"> {
  readonly missingDates: readonly DateRange[];
  /** Rejected, quarantined and discarded records without a later applied record of the same key. */
  readonly openRecords: number;
}

/** Combines consecutive dates into ranges. */
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

async function countOpenRecords({ client, asked }: BackfillQueryContext, of: ResourceProgress) {
  const { rejected, quarantined, discarded } = of.counts;
  const failed = rejected + quarantined + discarded;
  if (failed === 0) return 0;
  // One read, because reading some of a request's rejections parses all of them.
  const resource = of.resource;
  const some = await readFailedRecords(client, { ...asked, resource }, null, FAILED_LOOKED_AT_MAX);
  return failed - some.filter((record) => record.mended).length;
}

/** The text to sign, its SHA-256 in hexadecimal, and its contents. */
interface WrittenStatement {
  readonly text: string;
  readonly hash: string;
  /** Nothing announced is missing. */
  readonly complete: boolean;
  readonly resources: readonly ResourceStatement[];
}

/**
 * Writes the statement of a backfill as of a settled request, from one snapshot of the log, outcomes and versions. Yields the same text at
 * any later time. `closedAt` is when it was first written.
 */
export async function writeStatement(
  backfill: Backfill,
  queryContext: BackfillQueryContext,
  { closedAt, acceptGaps }: { readonly closedAt: string; readonly acceptGaps: boolean },
): Promise<WrittenStatement> {
  const { client, asked } = queryContext;
  const resources: ResourceStatement[] = [];
  for (const progress of await resourcesOf(queryContext)) {
    const { waitingBatches: _w, oldestWaitingAt: _o, ...own } = progress;
    const dates = rangesOf(await missingDates(client, asked, progress));
    const openRecords = await countOpenRecords(queryContext, progress);
    resources.push({ ...own, missingDates: dates, openRecords });
  }
  return stateResources(backfill, resources, { closedAt, countedTo: asked.upTo, acceptGaps });
}

export function stateResources(
  { backfillId, clientId, openedAt, manifest }: Backfill,
  resources: readonly ResourceStatement[],
  { closedAt, countedTo, acceptGaps }: { closedAt: string; countedTo: string; acceptGaps: boolean },
): WrittenStatement {
  const { clientCode, propertyCode, note } = manifest;
  const complete = resources.every(isComplete);
  const text = JSON.stringify({
    form: FORM,
    backfillId,
    clientId,
    clientCode,
    propertyCode,
    note,
    openedAt,
    closedAt,
    countedTo,
    complete,
    gapsAccepted: acceptGaps && !complete,
    resources,
  });
  return { text, hash: createHash("sha256").update(text).digest("hex"), complete, resources };
}

/** The gaps, in a sentence per incomplete resource. */
export function gapsInWords(resources: readonly ResourceStatement[]): string {
  return resources
    .filter((of) => !isComplete(of))
    .map(({ resource, missingRecords, missingDates: dates, openRecords }) => {
      const days = dates.reduce((sum, range) => sum + daysIn(range), 0);
      const parts = [
        ...((missingRecords ?? 0) > 0
          ? [`${countText(missingRecords ?? 0, "record")} fewer than expected`]
          : []),
        ...(days > 0 ? [`${countText(days, "date")} without a record`] : []),
        ...(openRecords > 0
          ? [`${countText(openRecords, "record")} rejected, quarantined or discarded`]
          : []),
      ];
      return `${resource}: ${parts.join(", ")}`;
    })
    .join("; ");
}
