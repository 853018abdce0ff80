import { hash } from "node:crypto";
import { readRecord } from "#contract/read-record.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import { BodyLayout } from "../ingest/log/body-layout.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { RequestCounts } from "../query/console/answers.ts";
import { NO_RECORDS } from "../query/list-requests.ts";
import { isNoLongerKept, loadRecords } from "../query/load-records.ts";
import { readForEachResource } from "../query/version-statement.ts";
import type { Backfill, DateRange } from "./backfill.ts";
import type { BackfillResource } from "./console-answers.ts";

const READ_SUMS = readStatement(new URL("./sql/read-sums.sql", import.meta.url));
const COUNT_KEYS = readForEachResource(new URL("./sql/count-keys.sql", import.meta.url));
const FIND_COPIES = readForEachResource(new URL("./sql/find-copies.sql", import.meta.url));

/** Requests whose layouts are in memory at once: 5 MB for full batches. */
const REQUESTS_AT_ONCE = 64;
/** Bytes read before yielding to the event loop: about a millisecond. */
const TURN_BYTES = 131_072;

interface KeysAsked {
  readonly backfillId: string;
  readonly bucket: number;
  readonly propertyId: number;
  readonly upTo: string;
  readonly resource: Resource;
}

/** Called with the number of records read from the log and their bytes, as they are read: the cost of a query. */
export type CountRead = (records: number, bytes: number) => void;

const ID_BYTES = 16;
/** Of SHA-256: two of a hundred million keys are equal with a probability below 0.1%. */
const KEY_BYTES = 8;

/** The ids of requests, of which there may be millions. */
function* idsOf(requestIds: Buffer): Generator<string[]> {
  for (let from = 0; from < requestIds.length; from += REQUESTS_AT_ONCE * ID_BYTES) {
    const some = requestIds.subarray(from, from + REQUESTS_AT_ONCE * ID_BYTES);
    yield Array.from({ length: some.length / ID_BYTES }, (_, at) =>
      some.toString("hex", at * ID_BYTES, (at + 1) * ID_BYTES),
    );
  }
}

/** The hashed keys of applied records without a version, because an equal record came first; read from the log. */
async function keysOfCopies(
  client: Queryable,
  { bucket, propertyId, upTo, resource }: KeysAsked,
  requestIds: Buffer,
  countRead: CountRead,
): Promise<Buffer> {
  const found: Buffer[] = [];
  let sinceTurn = 0;
  for (const some of idsOf(requestIds)) {
    const values = [bucket, propertyId, upTo, some];
    const { rows } = await client.query<{ requestId: string; layout: Buffer; known: number[] }>({
      ...FIND_COPIES[letterOf(resource)],
      values,
    });
    const copies = rows.flatMap(({ requestId, layout, known }) => {
      const records = new BodyLayout(layout);
      const indexes = Array.from({ length: records.recordCount }, (_, place) => records.indexAt(place));
      const versions = new Set(known);
      return indexes.filter((index) => !versions.has(index)).map((index) => ({ bucket, requestId, index }));
    });
    const keys = Buffer.allocUnsafeSlow(KEY_BYTES * copies.length);
    let length = 0;
    countRead(copies.length, 0);
    for await (const bytes of loadRecords(client, copies)) {
      // A record deleted by retention is not counted: an open backfill lacks it.
      if (!isNoLongerKept(bytes))
        length += hash("sha256", readRecord(resource, bytes).key, "buffer").copy(keys, length, 0, KEY_BYTES);
      countRead(0, bytes.length);
      sinceTurn += bytes.length;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
    found.push(keys.subarray(0, length));
  }
  return Buffer.concat(found);
}

const NOTHING = Buffer.alloc(0);

/** Usually every record has a version; only the keys of copies are read from the log. */
async function countDistinct(client: Queryable, asked: KeysAsked, countRead: CountRead): Promise<number> {
  const { backfillId, bucket, propertyId, upTo, resource } = asked;
  const letter = letterOf(resource);
  const count = async (copies: Buffer) => {
    const values = [bucket, backfillId, propertyId, upTo, letter, copies];
    const counted = { ...COUNT_KEYS[letter], values };
    const { rows } = await client.query<{ keys: number; incomplete: Buffer }>(counted);
    return rows[0] ?? { keys: 0, incomplete: NOTHING };
  };
  const { keys, incomplete } = await count(NOTHING);
  if (incomplete.length === 0) return keys;
  return (await count(await keysOfCopies(client, asked, incomplete, countRead))).keys;
}

/** Includes everything received so far. */
export const UP_TO_NOW = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Received data of one resource of a manifest. */
export interface ResourceTally extends Omit<BackfillResource, "datesNamed" | "datesCovered"> {
  /** Outcome counts over requests: batches retried without an Idempotency-Key count again, as duplicates. */
  readonly counts: RequestCounts;
  /** SHA-256 of its request ids, ascending, joined by commas: identifies the batches counted. */
  readonly requestsHash: string | null;
  /** From the statement of a closed backfill. */
  readonly missingDates?: readonly DateRange[];
}

interface Sums {
  readonly resource: string;
  readonly batches: number;
  readonly counts: RequestCounts;
  readonly waitingBatches: number;
  readonly oldestWaiting: string | null;
  readonly firstRequest: string;
  readonly lastRequest: string;
  readonly requestsHash: string;
}

function receivedAt(requestId: string | null | undefined): string | null {
  return requestId == null ? null : isoOfMicroseconds(microsecondsOf(requestId));
}

/**
 * Counts what has arrived of a backfill with requests up to `upTo`, from one snapshot of the log, outcomes and versions. For a settled
 * `upTo` the result never changes, even by a replay.
 */
export async function tallyOf(
  client: Queryable,
  { backfillId, bucket, manifest }: Backfill,
  propertyId: number | null,
  upTo: string,
  countRead: CountRead,
): Promise<ResourceTally[]> {
  const { rows } = await client.query<Sums>({ ...READ_SUMS, values: [bucket, backfillId, upTo] });
  const resources: ResourceTally[] = [];
  for (const named of manifest.resources) {
    const { resource, expectedRecords } = named;
    const of = rows.find((row) => row.resource === letterOf(resource));
    const isNone = of === undefined || propertyId === null;
    const asked = { backfillId, bucket, propertyId: propertyId ?? -1, upTo, resource };
    const distinctRecords = isNone ? 0 : await countDistinct(client, asked, countRead);
    resources.push({
      ...named,
      batches: of?.batches ?? 0,
      counts: of?.counts ?? NO_RECORDS,
      distinctRecords,
      missingRecords: expectedRecords === null ? null : Math.max(0, expectedRecords - distinctRecords),
      waitingBatches: of?.waitingBatches ?? 0,
      oldestWaitingAt: receivedAt(of?.oldestWaiting),
      firstReceivedAt: receivedAt(of?.firstRequest),
      lastReceivedAt: receivedAt(of?.lastRequest),
      requestsHash: of?.requestsHash ?? null,
    });
  }
  return resources;
}

/** The tally in the statement of a closed backfill, which remains readable after retention has deleted what it counted. */
export function statedTally(statement: string): ResourceTally[] {
  const stated = JSON.parse(statement) as { resources: (ResourceTally & { openRecords: number })[] };
  return stated.resources.map(({ openRecords: _, ...of }) => {
    return { ...of, waitingBatches: 0, oldestWaitingAt: null };
  });
}
