import type pg from "pg";
import { isDistributed, oneBucketOf } from "../platform/db/distribution.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type RowWriter, writeItems } from "../platform/db/write-rows.ts";
import type { ApplyMemory } from "./apply-memory.ts";
import type { AppliedRecord } from "./apply-records.ts";
import type { LogPart } from "./backlog.ts";
import { applyIsolatingBadRecords, type RefusedRecord } from "./isolate-bad-records.ts";
import type { ChangeCounters } from "./leases.ts";
import type { ReadPart } from "./read-part.ts";
import type { ApplicableRecord, HeldRecord, OutcomeLetter, RecordOutcome } from "./record.ts";
import type { RecordKey } from "./state/record-state.ts";
import { writeRows } from "./write-rows.ts";

/** What one transaction had of a property and resource: a row of `bellhop.feed_arrival`, under its columns' names. */
interface FeedArrival {
  readonly bucket: number;
  readonly property_id: number;
  readonly resource: string;
  readonly first_request_id: string;
  last_request_id: string;
  batches: number;
  applied: number;
  unchanged: number;
  stale: number;
  duplicate: number;
  quarantined: number;
  rejected: number;
  warned: number;
}

const COLUMN_OF = { a: "applied", u: "unchanged", s: "stale", d: "duplicate", q: "quarantined" } as const;

/** Counts the records of one transaction by property and resource. Parts come in the order of receipt. */
class FeedArrivals {
  readonly #rows = new Map<string, FeedArrival>();
  /** Records of one property come together. */
  #last: FeedArrival | undefined;

  /** A record of a part and what became of it. */
  add(part: LogPart, of: RecordKey, outcome: OutcomeLetter, isWarned: boolean): void {
    const row = this.#rowOf(part, of);
    if (row === undefined || outcome === "x") return;
    row[COLUMN_OF[outcome]] += 1;
    if (isWarned) row.warned += 1;
  }

  /** Records of a part that were rejected at acceptance: told beside one of its accepted ones, as their own codes may be anything. */
  addRejected(part: LogPart, beside: RecordKey | undefined): void {
    if (part.rejectedIndexes.size === 0 || beside === undefined) return;
    const row = this.#rowOf(part, beside);
    if (row !== undefined) row.rejected += part.rejectedIndexes.size;
  }

  rows(): FeedArrival[] {
    return [...this.#rows.values()];
  }

  /** Undefined for a record that could not be read: nobody knows whose it is. */
  #rowOf(part: LogPart, { bucket, propertyId, resource }: RecordKey): FeedArrival | undefined {
    if (propertyId === 0) return undefined;
    let row = this.#last;
    if (row?.property_id !== propertyId || row.resource !== resource) {
      const key = `${propertyId}${resource}`;
      row = this.#rows.get(key);
      if (row === undefined) {
        row = {
          bucket,
          property_id: propertyId,
          resource,
          first_request_id: part.requestId,
          last_request_id: "",
          batches: 0,
          applied: 0,
          unchanged: 0,
          stale: 0,
          duplicate: 0,
          quarantined: 0,
          rejected: 0,
          warned: 0,
        };
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

const writeOutcomes = readStatement(new URL("./sql/write-outcomes.sql", import.meta.url));
/** Which of the clients $1 want to hear of applied requests (as write-outcomes). */
const findListeners = namedStatement(
  "find-listeners-distributed",
  `select client.client_id
  from bellhop.client as client
  where client.client_id = any ($1::text[]) and (
    client.reply_to_origins <> '{}'
    or exists (
      select from bellhop.webhook_endpoint as endpoint
      where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
    )
  )`,
);
const writeCursors = readStatement(new URL("./sql/write-cursors.sql", import.meta.url));
const ofBucket = {
  outcomes: namedStatement(
    "write-outcomes-distributed",
    `-- As write-outcomes, of parts of the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
  insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
  select home.bucket, part.request_id, statement_timestamp(), part.outcomes,
    convert_from(substring($3::bytea from part.details_from for part.details_bytes), 'UTF8')::json
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as part (request_id uuid, outcomes text, details_from integer, details_bytes integer)
  where home.bucket = $2`,
  ),
  appliedParts: namedStatement(
    "write-applied-parts-distributed",
    `-- Notes parts of the bucket $2 whose client wants to hear of it (as write-outcomes-distributed).
  insert into bellhop.applied_part (bucket, request_id, client_id)
  select home.bucket, part.request_id, part.client_id
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as part (request_id uuid, client_id text)
  where home.bucket = $2`,
  ),
  arrivals: namedStatement(
    "write-arrivals-distributed",
    `-- Which feeds the records of a transaction were of, all of the bucket $2 (as write-outcomes-distributed).
  insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
    duplicate, quarantined, rejected, warned, bucket, resource)
  select sent.first_request_id, sent.last_request_id, sent.property_id, sent.batches, sent.applied, sent.unchanged,
    sent.stale, sent.duplicate, sent.quarantined, sent.rejected, sent.warned, home.bucket, sent.resource
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as sent (first_request_id uuid, last_request_id uuid, property_id integer,
    batches integer, applied integer, unchanged integer, stale integer, duplicate integer, quarantined integer,
    rejected integer, warned integer, resource "char")
  where home.bucket = $2`,
  ),
  movedCursors: namedStatement(
    "move-cursors-distributed",
    `-- Moves those cursors of the bucket $2 that there are; write-cursors-distributed makes the others.
  update apply_cursor as cursor set request_id = position.request_id
  from json_to_recordset($1::json) as position (log_writer_id bigint, request_id uuid)
  where cursor.bucket = $2 and cursor.log_writer_id = position.log_writer_id`,
  ),
  newCursors: namedStatement(
    "write-cursors-distributed",
    `-- Makes those cursors in the bucket $2 that there are not yet. Made from the bucket's own row, so that Citus hands it whole
  -- to the worker.
  insert into apply_cursor (bucket, log_writer_id, request_id)
  select home.bucket, position.log_writer_id, position.request_id
  from bellhop.bucket_lease as home
  cross join json_to_recordset($1::json) as position (log_writer_id bigint, request_id uuid)
  where home.bucket = $2 and not exists (
    select from apply_cursor as cursor where cursor.bucket = $2 and cursor.log_writer_id = position.log_writer_id
  )`,
  ),
};

/** How many records of a transaction had each outcome. */
export type OutcomeCounts = Readonly<Record<OutcomeLetter, number>>;

export function countOutcomes(letters: Iterable<OutcomeLetter>): OutcomeCounts {
  const counts = { a: 0, u: 0, s: 0, d: 0, q: 0, x: 0 };
  for (const letter of letters) counts[letter] += 1;
  return counts;
}

/** What is told of records that are more than plainly applied, by index, as JSON; undefined where all of them are plain. */
function detailsOf(outcomes: readonly RecordOutcome[]): Buffer | undefined {
  const details: Record<string, unknown> = {};
  let isEmpty = true;
  for (const { index, code, message, warnings } of outcomes) {
    if (code === null && warnings.length === 0) continue;
    isEmpty = false;
    details[index] = {
      ...(code === null ? {} : { code, message }),
      ...(warnings.length > 0 ? { warnings } : {}),
    };
  }
  return isEmpty ? undefined : Buffer.from(JSON.stringify(details));
}

/** Writes what became of parts: one row a part, details only of records that are more than plainly applied; of which feeds they were; and those that somebody wants to hear of (webhooks). */
export async function recordOutcomes(
  client: pg.ClientBase,
  parts: readonly { readonly part: LogPart; readonly outcomes: readonly RecordOutcome[] }[],
  arrivals: readonly FeedArrival[],
): Promise<void> {
  const told: Buffer[] = [];
  let at = 1;
  const rows = parts.map(({ part, outcomes }) => {
    const details = detailsOf(outcomes);
    const row = {
      bucket: part.bucket,
      request_id: part.requestId,
      client_id: part.kind === "b" ? part.clientId : undefined,
      outcomes: outcomes.map(({ outcome }) => outcome).join(""),
      details_from: details && at,
      details_bytes: details?.length,
    };
    if (details !== undefined) told.push(details);
    at += details?.length ?? 0;
    return row;
  });
  const details = Buffer.concat(told);
  if (!(await isDistributed(client))) {
    const values = [JSON.stringify(rows), JSON.stringify(arrivals), details];
    await client.query({ ...writeOutcomes, values });
    return;
  }
  await client.query({ ...ofBucket.outcomes, values: [JSON.stringify(rows), oneBucketOf(rows), details] });
  await noteForListeners(client, rows);
  if (arrivals.length > 0)
    await client.query({ ...ofBucket.arrivals, values: [JSON.stringify(arrivals), oneBucketOf(arrivals)] });
}

/** On Citus: who listens is known to the coordinator, what was applied lies on a worker. */
async function noteForListeners(
  client: pg.ClientBase,
  parts: readonly { readonly bucket: number; readonly client_id: string | undefined }[],
): Promise<void> {
  const clientIds = [...new Set(parts.flatMap(({ client_id }) => client_id ?? []))];
  const { rows } = await client.query<{ client_id: string }>({ ...findListeners, values: [clientIds] });
  const listeners = new Set(rows.map(({ client_id }) => client_id));
  const noted = parts.filter(({ client_id }) => client_id !== undefined && listeners.has(client_id));
  if (noted.length > 0)
    await client.query({ ...ofBucket.appliedParts, values: [JSON.stringify(noted), oneBucketOf(noted)] });
}

/** Moves the cursors past these parts. */
export async function advanceCursors(client: pg.ClientBase, parts: readonly LogPart[]): Promise<void> {
  const last = new Map<string, { bucket: number; log_writer_id: string; request_id: string }>();
  for (const { bucket, logWriterId, requestId } of parts) {
    // Parts come in the order of their ids, so the last of a log writer and bucket is its greatest.
    last.set(`${bucket}/${logWriterId}`, { bucket, log_writer_id: logWriterId, request_id: requestId });
  }
  const rows = [...last.values()];
  await writeRows(client, rows, writeCursors, ofBucket.movedCursors);
  if (await isDistributed(client)) await writeRows(client, rows, writeCursors, ofBucket.newCursors);
}

const QUARANTINE = {
  table: "bellhop.quarantine",
  columns: {
    bucket: "smallint",
    request_id: "uuid",
    record_index: "integer",
    property_id: "integer",
    resource: '"char"',
    key: "text",
    code: "text",
    message: "text",
  },
} as const;

function addHeld(rows: RowWriter, { of, requestId, index, code, message }: HeldRecord): void {
  rows.row();
  rows.smallint(of.bucket);
  rows.uuid(requestId);
  rows.integer(index);
  rows.integer(of.propertyId);
  rows.letter(of.resource);
  rows.text(of.key);
  rows.text(code);
  rows.text(message);
}

async function quarantine(client: pg.ClientBase, held: readonly HeldRecord[]): Promise<void> {
  await writeItems(client, QUARANTINE, held, addHeld);
}

function heldAs({ of, incoming }: ApplicableRecord, { code, message }: RefusedRecord): HeldRecord {
  const { requestId, index } = incoming;
  return { of, requestId, index, code, message };
}

function outcomeOfHeld({ code, message }: HeldRecord): Omit<RecordOutcome, "index"> {
  return { outcome: "q", code, message, warnings: [] };
}

/**
 * Applies parts of batches, in the order of receipt, inside the caller's transaction: state, versions, quarantine and
 * outcomes together with the cursors, which the caller has advanced, so that a crash leaves all of a part or none. What is
 * worked on without a pause for others of this thread are `recordsAtOnce`.
 */
export async function applyParts(
  client: pg.ClientBase,
  parts: readonly ReadPart[],
  counters: ChangeCounters,
  memory: ApplyMemory,
  recordsAtOnce = Number.POSITIVE_INFINITY,
): Promise<OutcomeCounts> {
  const applicable = parts.flatMap(({ records }) =>
    records.flatMap((record) => (record.kind === "applicable" ? [record.record] : [])),
  );
  const applied: (AppliedRecord | RefusedRecord)[] = [];
  for (let from = 0; from < applicable.length; from += recordsAtOnce) {
    const some = applicable.slice(from, from + recordsAtOnce);
    for (const became of await applyIsolatingBadRecords(client, some, counters.take, memory))
      applied.push(became);
  }
  const held: HeldRecord[] = [];
  const arrivals = new FeedArrivals();
  let next = 0;
  const outcomes: { part: LogPart; outcomes: RecordOutcome[] }[] = [];
  for (const { part, records } of parts) {
    const ofPart: RecordOutcome[] = [];
    for (const record of records) {
      const { index } = record;
      if (record.kind === "held") {
        held.push(record.held);
        ofPart.push({ ...outcomeOfHeld(record.held), index });
        arrivals.add(part, record.held.of, "q", false);
        continue;
      }
      const became = applied[next] as AppliedRecord | RefusedRecord;
      next += 1;
      arrivals.add(
        part,
        record.record.of,
        became.outcome,
        became.outcome !== "q" && became.warnings.length > 0,
      );
      if (became.outcome === "q") {
        const refused = heldAs(record.record, became);
        held.push(refused);
        ofPart.push({ ...outcomeOfHeld(refused), index });
      } else {
        ofPart.push({ index, outcome: became.outcome, code: null, message: null, warnings: became.warnings });
      }
    }
    outcomes.push({ part, outcomes: ofPart });
    const [first] = records;
    arrivals.addRejected(part, first?.kind === "held" ? first.held.of : first?.record.of);
  }
  await memory.write(client);
  await quarantine(client, held);
  await recordOutcomes(client, outcomes, arrivals.rows());
  await counters.write(client);
  return countOutcomes(outcomes.flatMap((part) => part.outcomes.map(({ outcome }) => outcome)));
}
