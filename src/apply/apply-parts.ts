import type pg from "pg";
import { UnreadableRecord, UnstorableFact } from "#contract/parsed-spans.ts";
import type { ResourceLetter } from "#contract/resource.ts";

import { recordCountOf } from "../ingest/log/body-layout.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import type { StoredRecord } from "../ingest/log/rewrite-body.ts";
import { type Columns, writeItems } from "../platform/db/copy.ts";
import { isDataError, isMissingWindow } from "../platform/db/database-errors.ts";
import { writeOutcomeRows } from "../platform/db/dialect.ts";
import { composeText, namedStatement, readStatement } from "../platform/db/statement.ts";
import { type AppliedRecord, type ApplyMemory, applyRecords, type NextChange } from "./apply-records.ts";
import {
  type LogPart,
  type LogRow,
  type PropertyDirectory,
  partOf,
  type ReadPart,
  readReleasedRecord,
} from "./backlog.ts";
import type { ChangeCounters } from "./leases.ts";
import { MissingContent } from "./ledger/content-nights.ts";
import {
  type ApplicableRecord,
  type OutcomeLetter,
  type QuarantineCode,
  type QuarantinedRecord,
  type RecordDetails,
  type RecordKey,
  UNREADABLE,
} from "./state/record.ts";

const UNSTORABLE = "The database could not store a value of this record; an operator has been notified.";

const INCOMPLETE = "The stored versions of this record are incomplete; an operator has been notified.";

/** A record that could not be applied and will be quarantined. */
export interface RefusedRecord {
  readonly outcome: "q";
  readonly code: QuarantineCode;
  readonly message: string;
}

function refusalFor(error: unknown): RefusedRecord | undefined {
  if (error instanceof UnreadableRecord)
    return { outcome: "q", code: "record.unreadable", message: UNREADABLE };
  // The source time has no partition yet: one is created before the next attempt.
  if (isMissingWindow(error)) return undefined;
  if (isDataError(error) || error instanceof UnstorableFact)
    return { outcome: "q", code: "data.unstorable", message: UNSTORABLE };
  if (error instanceof MissingContent) return { outcome: "q", code: "state.incomplete", message: INCOMPLETE };
  return undefined;
}

/**
 * Applies records, and isolates refused ones by halving under savepoints. Only data errors (SQLSTATE classes 22 and 23) count as
 * a refusal, so that an outage quarantines nothing. Change numbers of a half that is rolled back are skipped. What the memory has to
 * write is written under the same savepoint: a refusal of it would otherwise stop the bucket.
 */
export async function applyIsolatingBadRecords(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  nextChange: NextChange,
  memory: ApplyMemory,
): Promise<(AppliedRecord | RefusedRecord)[]> {
  if (records.length === 0) return [];
  await client.query("savepoint records");
  try {
    const applied = await applyRecords(client, records, nextChange, memory);
    await memory.write(client);
    await client.query("release savepoint records");
    return applied;
  } catch (error) {
    const refusal = refusalFor(error);
    if (refusal === undefined) throw error;
    await client.query("rollback to savepoint records");
    await client.query("release savepoint records");
    memory.forgetRecords();
    if (records.length === 1) return [refusal];
    const middle = records.length >>> 1;
    const first = await applyIsolatingBadRecords(client, records.slice(0, middle), nextChange, memory);
    const rest = await applyIsolatingBadRecords(client, records.slice(middle), nextChange, memory);
    return [...first, ...rest];
  }
}

const NO_RECORDS = {
  batches: 0,
  applied: 0,
  unchanged: 0,
  stale: 0,
  duplicate: 0,
  quarantined: 0,
  rejected: 0,
  warned: 0,
};

type RecordCounts = typeof NO_RECORDS;

/** A row of `bellhop.feed_arrival`: the records of one property and resource in one transaction. */
interface FeedArrival extends RecordCounts {
  readonly bucket: number;
  readonly property_id: number;
  readonly resource: ResourceLetter;
  readonly first_request_id: string;
  last_request_id: string;
}

/** Of these counts, a piece has a share; it has the whole of `batches`. */
const PIECE_COLUMNS = [
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "rejected",
  "warned",
] as const;
const COLUMN_OF = { a: "applied", u: "unchanged", s: "stale", d: "duplicate", q: "quarantined" } as const;

function keyOf({ property_id, resource }: Pick<FeedArrival, "property_id" | "resource">): string {
  return `${property_id}${resource}`;
}

/** Counts the records of one transaction by property and resource. Parts must be added in order of receipt. */
class FeedArrivals {
  readonly #rows = new Map<string, FeedArrival>();
  /** Consecutive records usually have the same property. */
  #last: FeedArrival | undefined;

  /** Adds the counts of an earlier piece of the same part. */
  addEarlier(rows: readonly FeedArrival[]): void {
    for (const row of rows) {
      const known = this.#rows.get(keyOf(row));
      if (known === undefined) this.#rows.set(keyOf(row), row);
      else for (const column of PIECE_COLUMNS) known[column] += row[column];
    }
  }

  add(part: LogPart, of: RecordKey, outcome: OutcomeLetter, isWarned: boolean): void {
    const row = this.#rowOf(part, of);
    if (row === undefined || outcome === "x") return;
    row[COLUMN_OF[outcome]] += 1;
    if (isWarned) row.warned += 1;
  }

  /**
   * Counts the rejected records of a part, whose others have been added, under the properties that they name; those that name none
   * under one of the part's.
   */
  addRejected({ part, rejected = new Map() }: Pick<ReadPart, "part" | "rejected">): void {
    const { bucket, requestId, resource, rejectedIndexes, rejectedOf = [] } = part;
    if (rejectedIndexes.size === 0) return;
    const row = this.rows().find((of) => of.bucket === bucket && of.last_request_id === requestId);
    if (row !== undefined) row.rejected += rejectedIndexes.size - rejectedOf.length;
    for (const [propertyId, records] of rejected) {
      const named = this.#rowOf(part, { bucket, propertyId, resource });
      if (named !== undefined) named.rejected += records;
    }
  }

  rows(): FeedArrival[] {
    return [...this.#rows.values()];
  }

  /** Undefined for an unreadable record, whose property is unknown. */
  #rowOf(part: LogPart, { bucket, propertyId, resource }: Omit<RecordKey, "key">): FeedArrival | undefined {
    if (propertyId === 0) return undefined;
    let row = this.#last;
    if (row?.property_id !== propertyId || row.resource !== resource) {
      const key = keyOf({ property_id: propertyId, resource });
      row = this.#rows.get(key);
      if (row === undefined) {
        const [first_request_id, last_request_id] = [part.requestId, ""];
        row = { bucket, property_id: propertyId, resource, first_request_id, last_request_id, ...NO_RECORDS };
        this.#rows.set(key, row);
      }
      this.#last = row;
    }
    if (row.last_request_id !== part.requestId) {
      row.last_request_id = part.requestId;
      row.batches += 1;
    }
    return row;
  }
}

const OUTCOMES = new URL("./sql/write-outcomes.sql", import.meta.url);
/** A part is listed in applied_part if its client has reply-to origins or a webhook for applied requests. */
const writeOutcomes = readStatement(OUTCOMES, {
  listens: `exists (
    select from bellhop.client as client
    where client.client_id = part.client_id and (
      client.reply_to_origins <> '{}'
      or exists (
        select from bellhop.webhook_endpoint as endpoint
        where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
      )
    )
  )`,
});
const WRITE_OUTCOMES = {
  own: writeOutcomes,
  given: { ...writeOutcomes, text: composeText(OUTCOMES, { listens: "part.client_id = any ($4::text[])" }) },
};
const writeCursors = readStatement(new URL("./sql/write-cursors.sql", import.meta.url));
/** Number of records by outcome. */
export type OutcomeCounts = Readonly<Record<OutcomeLetter, number>>;

export function countOutcomes(letters: string): OutcomeCounts {
  const counts = { a: 0, u: 0, s: 0, d: 0, q: 0, x: 0 };
  for (const letter of letters) counts[letter as OutcomeLetter] += 1;
  return counts;
}

interface PartOutcomes {
  readonly part: LogPart;
  /** One OutcomeLetter per record, in the order of the part. */
  readonly letters: string;
  /** Codes, messages and warnings by record index. */
  readonly details?: Readonly<Record<number, RecordDetails>>;
}

/** A row of `bellhop.applied_piece`, without its key. */
interface AppliedPiece {
  readonly outcomes: string;
  readonly details: Readonly<Record<number, RecordDetails>>;
  readonly arrivals: readonly FeedArrival[];
}

/** The primary key makes applying a piece twice an error. */
const writePiece = namedStatement(
  "write-piece",
  `insert into bellhop.applied_piece (bucket, request_id, until_record, warnings_listed, outcomes, details, arrivals)
  values ($1, $2, $3, $4, $5, $6, $7)`,
);
const takePieces = namedStatement(
  "take-pieces",
  `with taken as (
    delete from bellhop.applied_piece where bucket = $1 and request_id = $2
    returning until_record, outcomes, details, arrivals
  )
  select outcomes, details, arrivals from taken order by until_record`,
);

/** Reads and deletes what the earlier pieces of a part have left for the last. */
async function takeEarlier(client: pg.ClientBase, { part, piece }: ReadPart): Promise<AppliedPiece[]> {
  if (piece?.isLast !== true || piece.fromRecord === 0) return [];
  return (await client.query<AppliedPiece>({ ...takePieces, values: [part.bucket, part.requestId] })).rows;
}

/** Writes an outcome row per part, feed arrivals, and the parts of clients that listen. */
export async function recordOutcomes(
  client: pg.ClientBase,
  parts: readonly PartOutcomes[],
  arrivals: readonly FeedArrival[],
): Promise<void> {
  const reported: Buffer[] = [];
  let at = 1;
  const rows = parts.map(({ part, letters, details: ofPart = {} }) => {
    const details = Object.keys(ofPart).length === 0 ? undefined : Buffer.from(JSON.stringify(ofPart));
    const row = {
      bucket: part.bucket,
      request_id: part.requestId,
      client_id: part.kind === "b" ? part.clientId : undefined,
      outcomes: letters,
      details_from: details && at,
      details_bytes: details?.length,
    };
    if (details !== undefined) reported.push(details);
    at += details?.length ?? 0;
    return row;
  });
  const details = Buffer.concat(reported);
  const clientIds = rows.map(({ client_id }) => client_id);
  await writeOutcomeRows(client, WRITE_OUTCOMES, clientIds, [
    JSON.stringify(rows),
    JSON.stringify(arrivals),
    details,
  ]);
}

export async function advanceCursors(client: pg.ClientBase, parts: readonly LogPart[]): Promise<void> {
  const last = new Map<string, { bucket: number; log_writer_id: string; request_id: string }>();
  for (const { bucket, logWriterId, requestId } of parts) {
    // Parts are in order of receipt, so the last of a log writer and bucket has the greatest id.
    last.set(`${bucket}/${logWriterId}`, { bucket, log_writer_id: logWriterId, request_id: requestId });
  }
  await client.query({ ...writeCursors, values: [JSON.stringify([...last.values()])] });
}

const QUARANTINE: Columns<QuarantinedRecord> = {
  bucket: ["smallint", (to, { of }) => to.smallint(of.bucket)],
  request_id: ["uuid", (to, { requestId }) => to.uuid(requestId)],
  record_index: ["integer", (to, { index }) => to.integer(index)],
  property_id: ["integer", (to, { of }) => to.integer(of.propertyId)],
  resource: ['"char"', (to, { of }) => to.letter(of.resource)],
  key: ["text", (to, { of }) => to.text(of.key)],
  code: ["text", (to, { code }) => to.text(code)],
  message: ["text", (to, { message }) => to.text(message)],
};

/**
 * Limit on listed warnings per part. A batch may have a million; their 200 MB would block the thread until others take it for
 * unresponsive, and reading a page of the outcome would take seconds.
 */
function warningsListedMax(records: number): number {
  return Math.min(10_000, 200 + 10 * records);
}

/** How many warnings of these records may be listed, after those of the part's earlier pieces. */
function warningsListable({ part, records, piece }: ReadPart): number {
  if (piece === undefined || part.layout === null) return warningsListedMax(records.length);
  return Math.max(0, warningsListedMax(recordCountOf(part.layout)) - (part.progress?.warningsListed ?? 0));
}

/** Applies parts in order of receipt, inside the transaction that has advanced the cursors past the complete ones. */
export async function applyParts(
  client: pg.ClientBase,
  parts: readonly ReadPart[],
  counters: ChangeCounters,
  memory: ApplyMemory,
): Promise<OutcomeCounts> {
  const applicable: ApplicableRecord[] = [];
  for (const { records } of parts)
    for (const record of records) if (!("code" in record)) applicable.push(record);
  const applied = await applyIsolatingBadRecords(client, applicable, counters.take, memory);
  const quarantined: QuarantinedRecord[] = [];
  const arrivals = new FeedArrivals();
  let next = 0;
  let allLetters = "";
  const outcomes: PartOutcomes[] = [];
  for (const read of parts) {
    const { part, records, piece } = read;
    const earlier = await takeEarlier(client, read);
    for (const applied of earlier) arrivals.addEarlier(applied.arrivals);
    let letters = "";
    const listableBefore = warningsListable(read);
    let listable = listableBefore;
    const details: Record<number, RecordDetails> = {};
    for (const record of records) {
      const { of, index } = record;
      const result = "code" in record ? record : applied[next++];
      if (result === undefined) throw new Error("A record was neither applied nor refused.");
      if ("warnings" in result) {
        const { outcome, warnings } = result;
        letters += outcome;
        const isWarned = warnings.count > 0;
        if (isWarned) {
          const listed = warnings.list(listable);
          details[index] = { warnings: listed };
          listable = Math.max(0, listable - listed.length);
        }
        arrivals.add(part, of, outcome, isWarned);
        continue;
      }
      const { code, message } = result;
      letters += "q";
      details[index] = { code, message };
      quarantined.push({ of, requestId: part.requestId, index, code, message });
      arrivals.add(part, of, "q", false);
    }
    allLetters += letters;
    if (piece?.isLast === false) {
      const listed = listableBefore - listable;
      await client.query({
        ...writePiece,
        values: [
          part.bucket,
          part.requestId,
          piece.untilRecord,
          listed,
          letters,
          JSON.stringify(details),
          JSON.stringify(arrivals.rows()),
        ],
      });
      continue;
    }
    arrivals.addRejected(read);
    outcomes.push({
      part,
      letters: earlier.map((of) => of.outcomes).join("") + letters,
      details: Object.assign({}, ...earlier.map((of) => of.details), details),
    });
  }
  await writeItems(client, "bellhop.quarantine", QUARANTINE, quarantined);
  if (outcomes.length > 0) await recordOutcomes(client, outcomes, arrivals.rows());
  await counters.write(client);
  return countOutcomes(allLetters);
}

/** Reads one record of a batch from the log. */
async function findTarget(
  client: pg.ClientBase,
  bucket: number,
  target: NonNullable<LogPart["target"]>,
): Promise<{ part: LogPart; record: StoredRecord } | undefined> {
  const { rows } = await client.query<LogRow>(
    `select bucket, log_writer_id::text as log_writer_id, request_id, kind, resource, received_at, target_request_id, target_index,
      rejections, layout, body
    from bellhop.accept_log where request_id = $1 and bucket = $2 and kind in ('b', 'c')`,
    [target.requestId, bucket],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const part = partOf(row);
  if (part.layout === null || part.body === null) return undefined;
  const layout = await openLayout(part, part.layout);
  const position = layout.positionOf(target.index);
  if (position < 0) return undefined;
  const range = layout.rangeOf(position);
  const stored = part.body.subarray(range.from, range.from + range.bytes);
  for (const record of layout.recordsOf(range.chunk, stored)) {
    if (record.position !== position) continue;
    return {
      part,
      record: { index: target.index, bytes: record.bytes, hashOverride: layout.hashOverrideAt(position) },
    };
  }
  return undefined;
}

/** Applies a released record under its own receipt. Returns `q` if it still cannot be applied. */
export async function applyReleased(
  client: pg.ClientBase,
  resolution: LogPart,
  counters: { readonly take: NextChange },
  properties: PropertyDirectory,
  memory: ApplyMemory,
): Promise<OutcomeLetter> {
  if (resolution.target === null) throw new Error(`Resolution ${resolution.requestId} names no record.`);
  const target = await findTarget(client, resolution.bucket, resolution.target);
  if (target === undefined) return "q";
  const record = await readReleasedRecord(target.part, target.record, properties);
  if ("code" in record) return "q";
  // Answers as of an instant before the release did not include the record, and must not change.
  const released = { ...record, countsFrom: resolution.requestId };
  const [applied] = await applyIsolatingBadRecords(client, [released], counters.take, memory);
  return applied?.outcome ?? "q";
}

/** Applies a release or discard. No effect if the record is no longer quarantined; a failed release leaves it quarantined. */
export async function applyResolution(
  client: pg.ClientBase,
  resolution: LogPart,
  counters: ChangeCounters,
  properties: PropertyDirectory,
  memory: ApplyMemory,
): Promise<OutcomeLetter> {
  const { target } = resolution;
  if (target === null) throw new Error(`Resolution ${resolution.requestId} names no record.`);
  const { rowCount } = await client.query(
    `select 1 from bellhop.quarantine where bucket = $1 and request_id = $2 and record_index = $3 and state = 'q' for update`,
    [resolution.bucket, target.requestId, target.index],
  );
  let outcome: OutcomeLetter = "d";
  if (rowCount === 1) {
    const released = resolution.kind === "r";
    outcome = released ? await applyReleased(client, resolution, counters, properties, memory) : "x";
    if (outcome === "q") {
      await client.query(
        "update bellhop.quarantine set decided_by = null where bucket = $1 and request_id = $2 and record_index = $3",
        [resolution.bucket, target.requestId, target.index],
      );
    } else {
      await client.query(
        `update bellhop.quarantine set state = $4, resolved_at = statement_timestamp(), resolved_by = $5, outcome = $6,
          decided_by = null
        where bucket = $1 and request_id = $2 and record_index = $3`,
        [
          resolution.bucket,
          target.requestId,
          target.index,
          released ? "r" : "d",
          resolution.requestId,
          outcome,
        ],
      );
    }
  }
  await recordOutcomes(client, [{ part: resolution, letters: outcome }], []);
  await advanceCursors(client, [resolution]);
  await counters.write(client);
  return outcome;
}
