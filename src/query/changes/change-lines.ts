import { resourceOf } from "#contract/resource.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/request-id.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import type { Positions } from "./positions.ts";
import type { Change, ChangePage } from "./read-changes.ts";

/** What is told of a change beside its record; the cursor is where to go on behind it. */
function headOf(change: Change, cursor: string | undefined): string {
  return JSON.stringify({
    type: "change",
    resource: resourceOf(change.resource),
    clientCode: change.clientCode,
    propertyCode: change.propertyCode,
    key: change.key,
    sourceTime: change.sourceTime,
    receivedAt: isoOfMicroseconds(microsecondsOf(change.requestId)),
    requestId: change.requestId,
    index: change.index,
    change: change.isUpdate ? "updated" : "created",
    ...(cursor === undefined ? {} : { cursor }),
  });
}

/**
 * Yields the changes of a page as JSON objects, in order, each with its record as the very bytes that were sent, and, where
 * `cursorAt` (asked with the positions behind it) writes one, with the cursor that goes on behind it. Left out are those whose record is no longer kept. Memory does not grow with the page.
 */
export async function* changeObjects(
  on: Queryable,
  { changes, before }: ChangePage,
  cursorAt: (positions: Positions) => string | undefined,
): AsyncGenerator<Buffer, void> {
  const pointers = changes.map(({ bucket, requestId, index }) => ({ bucket, requestId, index }));
  const positions = new Map(before);
  let next = 0;
  for await (const record of loadRecords(on, pointers)) {
    const change = changes[next] as Change;
    next += 1;
    positions.set(change.bucket, change.changeNumber);
    // Something has changed the record since, and comes after this.
    if (isNoLongerKept(record)) continue;
    const head = headOf(change, cursorAt(positions));
    yield Buffer.concat([Buffer.from(`${head.slice(0, -1)},"record":`), record, Buffer.from("}")]);
  }
}
