import type pg from "pg";
import { latestSourceTime } from "#contract/calendar.ts";
import type { RecordReading } from "#contract/read-record.ts";
import { RecordReader, readRecord } from "#contract/read-record.ts";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { BodyLayout, BodyPiece } from "../ingest/log/body-layout.ts";
import { freeChunk } from "../ingest/log/body-layout.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import { bucketOf, ID_LOWEST } from "../ingest/log/part-name.ts";
import type { StoredRecord } from "../ingest/log/rewrite-body.ts";
import type { RedactionList } from "../ingest/redact.ts";
import { readBacklogRows, readOfBucket } from "../platform/db/dialect.ts";
import { composeText, namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { spanText } from "../platform/runtime/amounts.ts";
import { type ApplicableRecord, type QuarantinedRecord, UNREADABLE } from "./state/record.ts";

/** Bounds the wait on a dead connection; the applier then opens another. */
export const SHORT_TIMEOUT = { query_timeout: 10_000 } as const;

/** For statements that may return 8 MiB. */
const READ_TIMEOUT = { query_timeout: 30_000 } as const;

const BACKLOG = new URL("./sql/read-backlog.sql", import.meta.url);
export const readBacklogStatement = readStatement(BACKLOG, {
  "log-writers": "(select log_writer_id, yields from bellhop.log_writer where retired_at is null)",
});
/** Reads the log writers given as parameters. */
const readBacklogOf = {
  ...readBacklogStatement,
  text: composeText(BACKLOG, { "log-writers": "unnest($9::bigint[], $10::boolean[])" }),
};
const readLogStatement = readStatement(new URL("./sql/read-log.sql", import.meta.url));

/** Least limit of parts per log writer and bucket and read; with few buckets the limit is higher. */
const PARTS_OF_MANY = 64;
/** Stored bytes per read; the part that exceeds it is the last. */
const STORED_BYTES_TARGET = 8 * 1_048_576;

/** How long a large part, or one of a backfill, yields to others, so that a flood of them cannot delay it for longer. */
const YIELDS_MS = 10_000;
/** About 20 ms of an applier, for which others wait. */
const YIELDING_RECORDS_TARGET = 200;
/** A yielding part with more records or bytes is applied in pieces of about as many, one transaction each (docs/decisions/0007). */
const PIECE = { records: 500, storedBytes: 262_144, inflatedBytes: 1_048_576 } as const;

/** What the transactions so far have applied of a part. */
export interface PartProgress {
  /** How many records of the part, rejected ones included, are done. */
  readonly untilRecord: number;
  readonly warningsListed: number;
}

interface PropertyName {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** A rejected record as stored; without codes if it names no property. */
interface Rejection extends Partial<PropertyName> {
  readonly index: number;
}

/** One row of the log: the part of a batch that lies in one bucket, or a resolution. */
export interface LogPart {
  readonly bucket: number;
  readonly logWriterId: string;
  readonly requestId: string;
  readonly kind: "b" | "r" | "d";
  readonly resource: ResourceLetter;
  readonly receivedAt: Date;
  /** The sender; absent when read by `readLog`. */
  readonly clientId?: string;
  readonly target: { readonly requestId: string; readonly index: number } | null;
  readonly rejectedIndexes: ReadonlySet<number>;
  /** The properties that its rejected records name. */
  readonly rejectedOf?: readonly PropertyName[];
  /** Whether it is of a log writer that yields. */
  readonly yields?: boolean;
  /** How much of it is done, if it is applied in pieces; it then comes without its body. */
  readonly progress?: PartProgress;
  /** Trace context of the accepting span in hexadecimal digits, if traced. */
  readonly traceContext?: string | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** A log row as selected by all readers. */
export interface LogRow {
  bucket: number;
  log_writer_id: string;
  request_id: string;
  kind: "b" | "r" | "d";
  resource: ResourceLetter;
  received_at: Date;
  client_id?: string;
  target_request_id: string | null;
  target_index: number | null;
  rejections: readonly Rejection[] | null;
  of_yielding?: boolean;
  until_record?: number | null;
  warnings_listed?: number | null;
  trace_context?: string | null;
  layout: Buffer | null;
  body: Buffer | null;
}

function nameOf({ clientCode, propertyCode }: Rejection): PropertyName[] {
  return clientCode === undefined || propertyCode === undefined ? [] : [{ clientCode, propertyCode }];
}

export function partOf(row: LogRow): LogPart {
  return {
    bucket: row.bucket,
    logWriterId: row.log_writer_id,
    requestId: row.request_id,
    kind: row.kind,
    resource: row.resource,
    receivedAt: row.received_at,
    ...(row.client_id === undefined ? {} : { clientId: row.client_id }),
    target:
      row.target_request_id === null || row.target_index === null
        ? null
        : { requestId: row.target_request_id, index: row.target_index },
    rejectedIndexes: new Set((row.rejections ?? []).map(({ index }) => index)),
    ...(row.rejections === null ? {} : { rejectedOf: row.rejections.flatMap(nameOf) }),
    ...(row.of_yielding === true ? { yields: true } : {}),
    ...(row.until_record == null
      ? {}
      : { progress: { untilRecord: row.until_record, warningsListed: row.warnings_listed ?? 0 } }),
    traceContext: row.trace_context ?? null,
    layout: row.layout,
    body: row.body,
  };
}

/** A range of one log writer: after `from_id`, up to and including `request_id`. */
export interface LogStretch {
  readonly log_writer_id: string;
  readonly from_id: string;
  readonly request_id: string;
}

/** A part read again, with the indexes of records quarantined when it was applied, even if resolved since. */
export interface LoggedPart {
  readonly part: LogPart;
  readonly quarantined: ReadonlySet<number>;
}

/** Reads the log of a bucket again after `after`, in order of receipt. Returns an empty array at the end. */
export async function readLog(
  client: Queryable,
  bucket: number,
  stretches: readonly LogStretch[],
  { after, partsMax, resources }: { after?: string; partsMax: number; resources?: readonly ResourceLetter[] },
): Promise<LoggedPart[]> {
  const { rows } = await client.query<LogRow & { readonly quarantined: readonly number[] }>({
    ...readLogStatement,
    values: [
      bucket,
      after ?? ID_LOWEST,
      JSON.stringify(stretches),
      partsMax,
      STORED_BYTES_TARGET,
      resources ?? null,
    ],
  });
  return rows.map((row) => ({ part: partOf(row), quarantined: new Set(row.quarantined) }));
}

/**
 * Reads the next parts of these buckets in order of receipt, yielding ones only if no other part is pending. Empty only if there is
 * no backlog. The part that reaches `recordsMax` is the last.
 */
export async function readBacklog(
  client: pg.ClientBase,
  buckets: readonly number[],
  recordsMax: number,
): Promise<LogPart[]> {
  const asked = {
    own: { ...readBacklogStatement, ...READ_TIMEOUT },
    given: { ...readBacklogOf, ...READ_TIMEOUT },
  };
  const rows = await readBacklogRows<LogRow>(client, asked, [
    buckets,
    Math.max(PARTS_OF_MANY, Math.ceil(recordsMax / buckets.length)),
    recordsMax,
    STORED_BYTES_TARGET,
    YIELDS_MS,
    Math.min(YIELDING_RECORDS_TARGET, recordsMax),
    PIECE.records,
    PIECE.storedBytes,
  ]);
  return rows.map(partOf);
}

/** Limit on cached property ids; the cache is cleared when it is reached. */
const KNOWN_MAX = 400_000;

const countNamed = namedStatement(
  "count-named-properties",
  `select property.property_id, count(*)::integer as records
  from unnest($1::text[], $2::text[]) as named (client_code, property_code)
  join bellhop.property as property using (client_code, property_code)
  group by property.property_id`,
);

/** A cache of property ids. Registers properties of the log that the database lacks, for example after a failover. */
export class PropertyDirectory {
  readonly #pool: pg.Pool;
  readonly #ids = new Map<string, number>();
  /** The last one found: consecutive records usually have the same property. */
  #last: { readonly clientCode: string; readonly propertyCode: string; readonly id: number } | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** The cached id, if any. */
  knownIdOf(clientCode: string, propertyCode: string): number | undefined {
    const last = this.#last;
    if (last?.propertyCode === propertyCode && last.clientCode === clientCode) return last.id;
    const id = this.#ids.get(`${clientCode}\0${propertyCode}`);
    if (id !== undefined) this.#last = { clientCode, propertyCode, id };
    return id;
  }

  async idOf(clientCode: string, propertyCode: string): Promise<number> {
    const known = this.knownIdOf(clientCode, propertyCode);
    if (known !== undefined) return known;
    const id =
      (await this.#find(clientCode, propertyCode)) ?? (await this.#restore(clientCode, propertyCode));
    if (this.#ids.size >= KNOWN_MAX) this.#ids.clear();
    this.#ids.set(`${clientCode}\0${propertyCode}`, id);
    return id;
  }

  /** How many of these names each known property has, by its id. One read, because rejected records may name anything. */
  async countKnown(names: readonly PropertyName[]): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>();
    const unknown: PropertyName[] = [];
    const add = (id: number, count: number) => counts.set(id, (counts.get(id) ?? 0) + count);
    for (const name of names) {
      const id = this.knownIdOf(name.clientCode, name.propertyCode);
      if (id === undefined) unknown.push(name);
      else add(id, 1);
    }
    if (unknown.length === 0) return counts;
    const values = [unknown.map((one) => one.clientCode), unknown.map((one) => one.propertyCode)];
    const { rows } = await this.#pool.query<{ property_id: number; records: number }>({
      ...countNamed,
      values,
    });
    for (const { property_id, records } of rows) add(property_id, records);
    return counts;
  }

  async #find(clientCode: string, propertyCode: string): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ property_id: number }>({
      name: "find-property",
      text: "select property_id from bellhop.property where client_code = $1 and property_code = $2",
      values: [clientCode, propertyCode],
    });
    return rows[0]?.property_id;
  }

  async #restore(clientCode: string, propertyCode: string): Promise<number> {
    await this.#pool.query(
      `insert into bellhop.property (client_code, property_code, bucket, created_by)
      values ($1, $2, $3, 'bellhop apply') on conflict (client_code, property_code) do nothing`,
      [clientCode, propertyCode, bucketOf(clientCode, propertyCode)],
    );
    const id = await this.#find(clientCode, propertyCode);
    if (id === undefined)
      throw new Error(`Property ${propertyCode} of client code ${clientCode} could not be registered.`);
    return id;
  }
}

/** Bytes read between two turns of the event loop, about 1 ms. */
const TURN_BYTES = 131_072;

/** A record of a part, to be applied or quarantined. */
export type PartRecord = ApplicableRecord | QuarantinedRecord;

/** Reads an accepted record. Undefined if that fails, which is a bug (acceptance and reading disagree). */
function readingOf(reader: RecordReader, start: number, end: number): RecordReading | undefined {
  try {
    return reader.read(start, end);
  } catch {
    return undefined;
  }
}

/** Quarantines one unreadable record instead of blocking its bucket. */
function unreadable({ bucket, resource, requestId }: LogPart, index: number): QuarantinedRecord {
  const of = { bucket, propertyId: 0, resource, key: "" };
  return { of, requestId, index, code: "record.unreadable", message: UNREADABLE };
}

/** The last message: records of a batch often have the same source time. */
let lastAhead = { sourceTime: "", receivedAt: 0, message: "" };

function aheadMessage(sourceTime: string, receivedAt: number): string {
  if (lastAhead.sourceTime !== sourceTime || lastAhead.receivedAt !== receivedAt) {
    const ahead = spanText((Date.parse(sourceTime) - receivedAt) / 1_000);
    const message = `The source time ${sourceTime} is ${ahead} in the future (limit: 10 minutes): the record was quarantined for an operator to release or discard.`;
    lastAhead = { sourceTime, receivedAt, message };
  }
  return lastAhead.message;
}

function recordOf(
  part: LogPart,
  index: number,
  reading: RecordReading,
  propertyId: number,
  latest: string | null,
  isStrict = false,
): PartRecord {
  const { bucket, resource, requestId, receivedAt } = part;
  const { clientCode, key, sourceTime, contentHash, content } = reading;
  const of = { bucket, propertyId, resource, key };
  if (latest !== null && sourceTime > latest) {
    const message = aheadMessage(sourceTime, receivedAt.getTime());
    return { of, requestId, index, code: "time.future", message };
  }
  const negative = isStrict ? content().negativeCounts.list(1)[0] : undefined;
  if (negative !== undefined) {
    const message = `${negative.message} (${negative.pointer}), which is below zero: the record was quarantined for an operator to release or discard.`;
    return { of, requestId, index, code: "count.negative", message };
  }
  return { of, clientCode, sourceTime, contentHash, requestId, index, content };
}

/** Restores the content hash of the bytes as sent, where redaction has changed them (see HashOverrides). */
function withHashOverride(reading: RecordReading, hashOverride: string | undefined): RecordReading {
  if (hashOverride === undefined) return reading;
  const { clientCode, propertyCode, key, sourceTime, content } = reading;
  return { clientCode, propertyCode, key, sourceTime, contentHash: hashOverride, content };
}

/** Reads a released record, without quarantining it for its source time or counts. */
export async function readReleasedRecord(
  part: LogPart,
  { index, bytes, hashOverride }: StoredRecord,
  properties: PropertyDirectory,
): Promise<PartRecord> {
  const read = readingOf(new RecordReader(resourceOf(part.resource), bytes), 0, bytes.length);
  if (read === undefined) return unreadable(part, index);
  const reading = withHashOverride(read, hashOverride);
  const propertyId = await properties.idOf(reading.clientCode, reading.propertyCode);
  return recordOf(part, index, reading, propertyId, null);
}

export interface ReadPart {
  readonly part: LogPart;
  readonly records: readonly PartRecord[];
  /** The number of rejected records that name a known property, by its id. */
  readonly rejected?: ReadonlyMap<number, number>;
  /** By index, redacted bytes of records on the erasure list that are stored verbatim. */
  readonly redacted?: ReadonlyMap<number, Buffer>;
  /** Decompressed size of the records, which take a small multiple of that in memory. */
  readonly inflatedBytes: number;
  /** If the part is applied in pieces: which one these records are. */
  readonly piece?: PieceBounds;
  /** Frees the memory of the records, which must not be used afterwards. */
  free(): void;
}

/** The records of a part that one transaction applies, by their positions. */
interface PieceBounds {
  readonly fromRecord: number;
  readonly untilRecord: number;
  /** Whether no record of the part follows. */
  readonly isLast: boolean;
}

/** A piece of a part with what is needed to read it. */
interface OpenPiece extends PieceBounds {
  readonly layout: BodyLayout;
  readonly chunks: BodyPiece;
  /** The stored bytes of these chunks. */
  readonly body: Buffer;
}

/** Whether a part is applied once these records are. */
export function isComplete({ piece }: ReadPart): boolean {
  return piece?.isLast !== false;
}

/** Finds nothing if an erasure has rewritten the part since its layout was read. */
const readBody = namedStatement(
  "read-body",
  `select substring(body from $5 for $6) as body from bellhop.accept_log
  where bucket = $1 and log_writer_id = $2 and request_id = $3 and layout = $4`,
);

async function readChunks(
  client: Queryable,
  { bucket, logWriterId, requestId, layout }: LogPart,
  { from, storedBytes }: BodyPiece,
): Promise<Buffer> {
  const values = [bucket, logWriterId, requestId, layout, from + 1, storedBytes];
  const [row] = await readOfBucket<{ body: Buffer }>(client, readBody, bucket, values);
  const body = row?.body;
  if (body === undefined) throw new Error(`Part ${requestId} of the log has changed while it was read.`);
  return body;
}

/** The body of a part that is applied in pieces. */
export async function readWholeBody(client: Queryable, part: LogPart): Promise<Buffer> {
  const layout = part.layout && (await openLayout(part, part.layout));
  if (layout === null) throw new Error(`Part ${part.requestId} of the log has no layout.`);
  const whole = layout.pieceFrom(0, { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY });
  return readChunks(client, part, whole);
}

/** Reads the stored bytes of the next piece of a part. */
export async function openNextPiece(
  client: Queryable,
  part: LogPart,
  { untilRecord: fromRecord }: PartProgress,
): Promise<OpenPiece> {
  if (part.layout === null) throw new Error(`Part ${part.requestId} of the log has no layout.`);
  const layout = await openLayout(part, part.layout);
  const chunks = layout.pieceFrom(fromRecord, { records: PIECE.records, bytes: PIECE.inflatedBytes });
  const body = await readChunks(client, part, chunks);
  const { untilRecord } = chunks;
  return { layout, chunks, body, fromRecord, untilRecord, isLast: untilRecord === layout.recordCount };
}

/** The first records of a part whose body has been read, for a replay. */
export async function openFirstPiece(part: LogPart, untilRecord: number): Promise<OpenPiece> {
  if (part.layout === null || part.body === null)
    throw new Error(`Part ${part.requestId} of the log has no body.`);
  const layout = await openLayout(part, part.layout);
  const chunks = layout.pieceFrom(0, { records: untilRecord, bytes: Number.POSITIVE_INFINITY });
  return { layout, chunks, body: part.body, fromRecord: 0, untilRecord, isLast: false };
}

/** Redacts and reads a record on the erasure list; undefined for all others. */
function readErased(
  part: LogPart,
  { clientCode, propertyCode, key }: RecordReading,
  bytes: Buffer,
  redactions: RedactionList,
): { readonly reading: RecordReading; readonly bytes: Buffer } | undefined {
  const resource = resourceOf(part.resource);
  const erased = redactions.erased({ resource, clientCode, propertyCode, key }, bytes);
  return erased && { reading: readRecord(resource, erased), bytes: erased };
}

/**
 * Reads the accepted records of a part or piece, in order. Records on the redaction list are redacted if they are stored verbatim.
 * `settings`, given when a part is first applied, quarantines records with negative counts.
 */
export async function readPart(
  part: LogPart,
  properties: PropertyDirectory,
  redactions?: RedactionList,
  settings?: RedactionList,
  piece?: OpenPiece,
): Promise<ReadPart> {
  const body = piece?.body ?? part.body;
  if (part.layout === null || body === null)
    throw new Error(`Part ${part.requestId} of the log has no body.`);
  const records: PartRecord[] = [];
  const redacted = new Map<number, Buffer>();
  const layout = piece?.layout ?? (await openLayout(part, part.layout));
  const { fromRecord = 0, untilRecord = layout.recordCount, isLast = true } = piece ?? {};
  const latest = latestSourceTime(part.receivedAt.getTime());
  const chunks: Buffer[] = [];
  let inflatedBytes = 0;
  let turnBytes = 0;
  for (const chunk of layout.chunksOf(body, part.rejectedIndexes, piece?.chunks)) {
    inflatedBytes += chunk.bytes.length;
    chunks.push(chunk.bytes);
    const reader = new RecordReader(resourceOf(part.resource), chunk.bytes);
    let end = 0;
    for (let position = chunk.firstRecord; position < chunk.firstRecord + chunk.recordCount; position += 1) {
      const start = end;
      end += layout.bytesAt(position);
      turnBytes += end - start;
      if (turnBytes > TURN_BYTES) {
        turnBytes = 0;
        await new Promise((resume) => setImmediate(resume));
      }
      const index = layout.indexAt(position);
      if (part.rejectedIndexes.has(index) || start === end) continue;
      if (position < fromRecord || position >= untilRecord) continue;
      const read = readingOf(reader, start, end);
      if (read === undefined) {
        records.push(unreadable(part, index));
        continue;
      }
      const hashOverride = layout.hasHashOverrides ? layout.hashOverrideAt(position) : undefined;
      const erased =
        redactions?.isEmpty !== false || hashOverride !== undefined
          ? undefined
          : readErased(part, read, chunk.bytes.subarray(start, end), redactions);
      if (erased !== undefined) redacted.set(index, erased.bytes);
      const reading = erased?.reading ?? withHashOverride(read, hashOverride);
      const { clientCode, propertyCode } = reading;
      // Nearly always cached: awaiting each record would cost more than the lookup.
      const propertyId =
        properties.knownIdOf(clientCode, propertyCode) ?? (await properties.idOf(clientCode, propertyCode));
      const isStrict = settings?.negativeCounts(clientCode, propertyCode) === "quarantine";
      records.push(recordOf(part, index, reading, propertyId, latest, isStrict));
    }
  }
  const names = isLast ? (part.rejectedOf ?? []) : [];
  return {
    part,
    records,
    ...(names.length === 0 ? {} : { rejected: await properties.countKnown(names) }),
    inflatedBytes,
    free: () => chunks.forEach(freeChunk),
    ...(redacted.size === 0 ? {} : { redacted }),
    ...(piece === undefined ? {} : { piece: { fromRecord, untilRecord, isLast } }),
  };
}
