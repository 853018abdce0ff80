import { readRecord } from "#contract/read-record.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import type { AcceptLog } from "../ingest/log/accept-log.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { BodyLayout } from "../ingest/log/stored-body.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { loadRecords, type RecordPointer } from "../query/load-records.ts";
import type { RequestCounts } from "../query/request-summary.ts";
import { forEachResource } from "../query/version-statement.ts";
import type { Backfill, ManifestResource } from "./backfill.ts";

const findCopies = forEachResource(readStatement(new URL("./sql/find-copies.sql", import.meta.url)));

/** Requests whose layouts are in memory at once: of full batches 5 MB. */
const REQUESTS_AT_ONCE = 64;
/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

interface CopyRow {
  readonly request_id: string;
  readonly layout: Buffer;
  readonly known: readonly number[];
}

/** Whose copies are asked for. */
interface CopiesAsked {
  readonly bucket: number;
  readonly propertyId: number;
  readonly upTo: string;
  readonly resource: Resource;
}

/**
 * The keys of those applied records of some requests that are no version of their own, as the same record with the same source
 * time had come before: read from the log, some requests at a time.
 */
async function keysOfCopies(
  client: Queryable,
  { bucket, propertyId, upTo, resource }: CopiesAsked,
  requestIds: readonly string[],
): Promise<{ readonly keys: ReadonlySet<string>; readonly recordsRead: number }> {
  const keys = new Set<string>();
  let recordsRead = 0;
  let sinceTurn = 0;
  for (let at = 0; at < requestIds.length; at += REQUESTS_AT_ONCE) {
    const { rows } = await client.query<CopyRow>({
      ...findCopies[letterOf(resource)],
      values: [bucket, propertyId, upTo, requestIds.slice(at, at + REQUESTS_AT_ONCE)],
    });
    const copies = rows.flatMap((row) => [...copiesOf(bucket, row)]);
    for await (const bytes of loadRecords(client, copies)) {
      keys.add(readRecord(resource, bytes).key);
      recordsRead += 1;
      sinceTurn += bytes.length;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
  }
  return { keys, recordsRead };
}

function* copiesOf(
  bucket: number,
  { request_id: requestId, layout, known }: CopyRow,
): Generator<RecordPointer> {
  const told = new Set(known);
  const records = new BodyLayout(layout);
  for (let position = 0; position < records.recordCount; position += 1) {
    const index = records.indexAt(position);
    if (!told.has(index)) yield { bucket, requestId, index };
  }
}

const readSums = readStatement(new URL("./sql/read-sums.sql", import.meta.url));
const countKeys = forEachResource(readStatement(new URL("./sql/count-keys.sql", import.meta.url)));

/** Whatever has come so far. */
export const UP_TO_NOW = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** What has come of one resource of a manifest. */
export interface ResourceTally extends ManifestResource {
  readonly batches: number;
  /** Outcomes as they are told of requests: retried batches without an Idempotency-Key count here, as duplicates. */
  readonly counts: RequestCounts;
  /** Different records (by key) that were applied: each counts once, however often and in whatever order it came. */
  readonly distinctRecords: number;
  /** How many of the expected ones that leaves; null where nothing was said of them. */
  readonly missingRecords: number | null;
  /** Batches that are not applied yet. */
  readonly waitingBatches: number;
  readonly oldestWaitingAt: string | null;
  readonly firstReceivedAt: string | null;
  readonly lastReceivedAt: string | null;
  /** The newest request of it; null: none. */
  readonly lastRequestId: string | null;
  /** SHA-256 of the ids of all its requests, ascending, with commas between: which batches were counted. */
  readonly requestsHash: string | null;
}

export interface Tally {
  readonly resources: readonly ResourceTally[];
  /** Records that had to be read from the log for it: what the question cost. */
  readonly recordsRead: number;
}

type Sums = Omit<RequestCounts, "pending"> & {
  readonly resource: string;
  readonly batches: number;
  readonly pending: number;
  readonly waiting_batches: number;
  readonly oldest_waiting: string | null;
  readonly first_request: string;
  readonly last_request: string;
  readonly requests_hash: string;
};

const NO_COUNTS: RequestCounts = {
  records: 0,
  pending: 0,
  applied: 0,
  unchanged: 0,
  stale: 0,
  duplicate: 0,
  quarantined: 0,
  discarded: 0,
  rejected: 0,
  warned: 0,
};

function receivedAt(requestId: string | null | undefined): string | null {
  return requestId == null ? null : isoOfMicroseconds(microsecondsOf(requestId));
}

function countsOf(sums: Sums): RequestCounts {
  const { records, pending, applied, unchanged, stale, duplicate, quarantined, discarded, rejected, warned } =
    sums;
  return { records, pending, applied, unchanged, stale, duplicate, quarantined, discarded, rejected, warned };
}

/**
 * What has come of a backfill with requests up to `upTo`, worked out from the log, the outcomes and the versions: no counter
 * is kept. Asked of one snapshot, so that its numbers belong together; the same question about a past `upTo` that is settled
 * has the same answer at any time, also after a replay.
 */
export async function tallyOf(
  client: Queryable,
  { backfillId, bucket, manifest }: Backfill,
  propertyId: number | null,
  upTo: string,
): Promise<Tally> {
  const { rows } = await client.query<Sums>({ ...readSums, values: [bucket, backfillId, upTo] });
  const sums = new Map(rows.map((row) => [row.resource, row]));
  const resources: ResourceTally[] = [];
  let recordsRead = 0;
  for (const named of manifest.resources) {
    const of = sums.get(letterOf(named.resource));
    const distinct =
      of === undefined || propertyId === null
        ? { keys: 0, recordsRead: 0 }
        : await countDistinct(client, { backfillId, bucket, propertyId, upTo, resource: named.resource });
    recordsRead += distinct.recordsRead;
    resources.push(tallyOfResource(named, of, distinct.keys));
  }
  return { resources, recordsRead };
}

function tallyOfResource(named: ManifestResource, of: Sums | undefined, distinct: number): ResourceTally {
  const { expectedRecords } = named;
  return {
    ...named,
    batches: of?.batches ?? 0,
    counts: of === undefined ? NO_COUNTS : countsOf(of),
    distinctRecords: distinct,
    missingRecords: expectedRecords === null ? null : Math.max(0, expectedRecords - distinct),
    waitingBatches: of?.waiting_batches ?? 0,
    oldestWaitingAt: receivedAt(of?.oldest_waiting),
    firstReceivedAt: receivedAt(of?.first_request),
    lastReceivedAt: receivedAt(of?.last_request),
    lastRequestId: of?.last_request ?? null,
    requestsHash: of?.requests_hash ?? null,
  };
}

interface KeysAsked {
  readonly backfillId: string;
  readonly bucket: number;
  readonly propertyId: number;
  readonly upTo: string;
  readonly resource: Resource;
}

/** A copy of what had come before has no version of its own, so its key is read from the log: usually there are none. */
async function countDistinct(
  client: Queryable,
  asked: KeysAsked,
): Promise<{ readonly keys: number; readonly recordsRead: number }> {
  const { backfillId, bucket, propertyId, upTo, resource } = asked;
  const letter = letterOf(resource);
  const count = async (copies: readonly string[]) => {
    const { rows } = await client.query<{ keys: number; incomplete: string[] }>({
      ...countKeys[letter],
      values: [bucket, backfillId, propertyId, upTo, letter, copies],
    });
    return rows[0] ?? { keys: 0, incomplete: [] };
  };
  const { keys, incomplete } = await count([]);
  if (incomplete.length === 0) return { keys, recordsRead: 0 };
  const copies = await keysOfCopies(client, asked, incomplete);
  const all = await count([...copies.keys]);
  return { keys: all.keys, recordsRead: copies.recordsRead };
}

/**
 * The log for batches of backfills, by log writers of their own: opened when the first of them comes, so that a node without any
 * holds no connection for them.
 */
export class BackfillLog {
  readonly #openLog: () => Promise<AcceptLog>;
  #log: Promise<AcceptLog> | undefined;
  #closed = false;

  constructor(openLog: () => Promise<AcceptLog>) {
    this.#openLog = openLog;
  }

  /** Rejects where it cannot be opened now; the next batch tries again. */
  open(): Promise<AcceptLog> {
    if (this.#closed) return Promise.reject(new Error("The service is stopping."));
    this.#log ??= this.#openLog().catch((error: unknown) => {
      this.#log = undefined;
      throw error;
    });
    return this.#log;
  }

  /** Lets what waits be written, then closes the log writers. */
  async close(): Promise<void> {
    this.#closed = true;
    const log = await this.#log?.catch(() => undefined);
    await log?.close();
  }
}
