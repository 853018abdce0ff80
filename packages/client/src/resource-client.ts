import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type {
  GroupVersion,
  InventoryVersion,
  ListGroupsHistoryQuery,
  ListGroupsQuery,
  ListInventoriesHistoryQuery,
  ListInventoriesQuery,
  ListRequestsQuery,
  ListReservationsHistoryQuery,
  ListReservationsQuery,
  RecordOutcome,
  RequestStatus,
  RequestSummary,
  ReservationVersion,
} from "./api-types.ts";
import { type JsonRecord, RecordCutter, type Records, unreadable } from "./batch.ts";
import { apiPath, type Connection } from "./connection.ts";
import { readJson } from "./http.ts";
import type { RecordOf, Resource, SendOptions } from "./options.ts";
import { listOutcomes, readStatus, type StatusQuery, waitUntilApplied } from "./outcomes.ts";
import type { SendReport } from "./report.ts";
import { send } from "./send.ts";

interface ListQueryOf {
  readonly inventories: ListInventoriesQuery;
  readonly reservations: ListReservationsQuery;
  readonly groups: ListGroupsQuery;
}

interface HistoryQueryOf {
  readonly inventories: ListInventoriesHistoryQuery;
  readonly reservations: ListReservationsHistoryQuery;
  readonly groups: ListGroupsHistoryQuery;
}

interface VersionOf {
  readonly inventories: InventoryVersion;
  readonly reservations: ReservationVersion;
  readonly groups: GroupVersion;
}

interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Sends the records of one kind and reads them back. */
export class ResourceClient<Of extends Resource> {
  readonly #connection: Connection;
  readonly #resource: Of;

  constructor(connection: Connection, resource: Of) {
    this.#connection = connection;
    this.#resource = resource;
  }

  /**
   * Sends records from an array, a generator or a stream, in compressed batches, several at once. Transient failures (429, 503, a
   * broken connection) are retried under an `Idempotency-Key` derived from the batch, so nothing is stored twice.
   *
   * Refused records are reported with their reasons; the others are still sent. Rejects with a SendError, whose `report` covers
   * every record, when the send cannot go on or a batch was always answered with 500.
   *
   * @example
   * const report = await bellhop.reservations.send(readRecords("bookings.ndjson.gz"), { waitForOutcomes: true });
   * // { records: 25000, accepted: 25000, rejected: [], outcomes: { applied: 25000, … }, … }
   */
  send(records: Records<RecordOf[Of]>, options: SendOptions = {}): Promise<SendReport> {
    return send(this.#connection, this.#resource, records, options);
  }

  /**
   * The current records of a property, or those at an instant (`asOf`), verbatim. JavaScript rounds numbers that it cannot hold
   * exactly; amounts sent as text stay exact.
   *
   * @example
   * for await (const { reservationId } of bellhop.reservations.list({ clientCode: "DEMO", propertyCode: "LON01" }))
   *   console.log(reservationId);
   */
  list(query: ListQueryOf[Of], options: ReadOptions = {}): AsyncIterableIterator<RecordOf[Of]> {
    return readPages(this.#connection, this.#resource, { ...query }, options.signal);
  }

  /** Every version of one record, by source time and then receipt, oldest first. */
  history(query: HistoryQueryOf[Of], options: ReadOptions = {}): AsyncIterableIterator<VersionOf[Of]> {
    return readPages(this.#connection, `${this.#resource}/history`, { ...query }, options.signal);
  }
}

/** A path, a file URL or a stream of bytes. */
export type RecordSource = string | URL | AsyncIterable<Uint8Array>;

const GZIP = [0x1f, 0x8b] as const;
const READ_BYTES = 262_144;

/**
 * Reads the records of a file verbatim, one at a time: a JSON array or NDJSON, plain or gzip, distinguished by the first bytes.
 * Throws `client.UnreadableInput` for any other input, or one that ends within a record.
 *
 * @example
 * await bellhop.reservations.send(readRecords("bookings.json.gz"));
 */
export async function* readRecords(source: RecordSource): AsyncGenerator<JsonRecord, void, undefined> {
  const bytes =
    typeof source === "string" || source instanceof URL
      ? createReadStream(source, { highWaterMark: READ_BYTES })
      : source;
  const cutter = new RecordCutter();
  for await (const chunk of unpacked(bytes)) yield* cutter.push(chunk);
  const last = cutter.end();
  if (last !== undefined) yield last;
}

async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = source[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < GZIP.length) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const whole = (async function* () {
    try {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      await chunks.return?.();
    }
  })();
  yield* GZIP.every((byte, at) => head[at] === byte) ? gunzipped(whole) : whole;
}

async function* gunzipped(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  // Errors of both streams are thrown to the reader.
  pipeline(packed, gunzip).catch(() => undefined);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (!isOfZlib(cause)) throw cause;
    throw unreadable(`it is not whole gzip (${cause.message})`, cause);
  } finally {
    gunzip.destroy();
  }
}

function isOfZlib(cause: unknown): cause is Error {
  return cause instanceof Error && "code" in cause && /^Z_|^ERR_ZLIB/.test(String(cause.code));
}

const PAGE_BYTES_MAX = 268_435_456;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** Reads a list page by page. */
async function* readPages<Item>(
  connection: Connection,
  path: string,
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined;
  do {
    const request = { path: apiPath(path, { ...query, cursor }), signal };
    const page: Page<Item> = await connection.ask(request, (response) => readJson(response, PAGE_BYTES_MAX));
    yield* page.items;
    // Only a missing cursor marks the end.
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

const WAIT_MS = 600_000;

/** The batches that this client sent (docs/reading.md). */
export class RequestsClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The status of one batch and a page of its records that need attention. Rejects with `bellhop.read.RequestNotFound` (404). */
  get(requestId: string, query: StatusQuery = {}): Promise<RequestStatus> {
    return readStatus(this.#connection, requestId, query);
  }

  /** The status once every record has its outcome, or after `withinMs` (default 10 minutes). */
  untilApplied(
    requestId: string,
    options: { readonly withinMs?: number; readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<RequestStatus> {
    return waitUntilApplied(this.#connection, requestId, options.withinMs ?? WAIT_MS, options);
  }

  /** Every record of a batch with a warning or an outcome other than `applied`, by index. */
  outcomes(
    requestId: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<RecordOutcome> {
    return listOutcomes(this.#connection, requestId, options.signal);
  }

  /** This client's requests, newest first. */
  list(
    query: ListRequestsQuery = {},
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<RequestSummary> {
    return readPages(this.#connection, "requests", { ...query }, options.signal);
  }
}
