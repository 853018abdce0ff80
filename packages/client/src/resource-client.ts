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
import { JsonRecord, RecordCutter, type Records, unreadable } from "./batch.ts";
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

/** The records of one kind: to send them, and to read back what the service has. */
export class ResourceClient<Of extends Resource> {
  readonly #connection: Connection;
  readonly #resource: Of;

  constructor(connection: Connection, resource: Of) {
    this.#connection = connection;
    this.#resource = resource;
  }

  /**
   * Sends records, however many: an array, a generator, a stream. They are taken as they are needed, cut into batches, compressed, and
   * sent several at once; what may pass (429, 503, a broken connection) is repeated at the pace of the service, under an
   * `Idempotency-Key` that the batch's content makes, so that nothing is stored twice, also when a process that was killed
   * sends the same records again.
   *
   * A record that is refused is reported with its reason and keeps no other from being sent, and nor does a batch that the service answers with
   * 500 whatever happens. Rejects with a SendError when nothing can go on, or in the end when such a batch was left out: its
   * `report` says what had become of the records.
   *
   * @example
   * const report = await bellhop.reservations.send(readRecords("bookings.ndjson.gz"), {
   *   waitForOutcomes: true,
   *   onProgress: ({ accepted }) => console.error(`${accepted} accepted`),
   * });
   * // { records: 25000, accepted: 25000, rejected: [], outcomes: { applied: 25000, … }, … }
   */
  send(records: Records<RecordOf[Of]>, options: SendOptions = {}): Promise<SendReport> {
    return send(this.#connection, this.#resource, records, options);
  }

  /**
   * The current records of a property, or those of an instant (`asOf`), each as it was sent (docs/reading.md, "Records").
   * Numbers beyond what JavaScript holds exactly are rounded by it; amounts sent as texts are not.
   *
   * @example
   * for await (const { reservationId } of bellhop.reservations.list({ clientCode: "DEMO", propertyCode: "LON01" }))
   *   console.log(reservationId);
   */
  list(query: ListQueryOf[Of], options: ReadOptions = {}): AsyncIterableIterator<RecordOf[Of]> {
    return readPages(this.#connection, this.#resource, { ...query }, options.signal);
  }

  /** Every version of one record, oldest first by source time and then receipt. */
  history(query: HistoryQueryOf[Of], options: ReadOptions = {}): AsyncIterableIterator<VersionOf[Of]> {
    return readPages(this.#connection, `${this.#resource}/history`, { ...query }, options.signal);
  }
}

/** Where the bytes of a file of records come from: its path, or a stream of it. */
export type RecordSource = string | URL | AsyncIterable<Uint8Array>;

const GZIP = [0x1f, 0x8b] as const;
const READ_BYTES = 262_144;

/**
 * The records of a file, one by one and byte for byte: a JSON array or NDJSON (a record a line), plain or gzip; which of them is
 * seen from its first bytes. No more than one record and one chunk are in memory, however large the file is.
 * Throws `client.UnreadableInput` where it is none of these, or ends in the middle of a record.
 *
 * @example
 * await bellhop.reservations.send(readRecords("bookings.json.gz"));
 * await bellhop.reservations.send(readRecords(process.stdin));
 */
export async function* readRecords(source: RecordSource): AsyncGenerator<JsonRecord, void, undefined> {
  const bytes =
    typeof source === "string" || source instanceof URL
      ? createReadStream(source, { highWaterMark: READ_BYTES })
      : source;
  const cutter = new RecordCutter();
  for await (const chunk of unpacked(bytes))
    for (const json of cutter.push(chunk)) yield new JsonRecord(json);
  const last = cutter.end();
  if (last !== undefined) yield new JsonRecord(last);
}

async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = source[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let headBytes = 0;
  while (headBytes < GZIP.length) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    head.push(value);
    headBytes += value.byteLength;
  }
  const first = Buffer.concat(head);
  const rest = (async function* () {
    try {
      if (first.length > 0) yield first;
      for (;;) {
        const { done, value } = await chunks.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      await chunks.return?.();
    }
  })();
  if (!GZIP.every((byte, at) => first[at] === byte)) yield* rest;
  else yield* gunzipped(rest);
}

async function* gunzipped(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  // Errors of either side are thrown where the stream is read.
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
    // Only a missing cursor is the end.
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

const WAIT_MS = 600_000;

/** What became of the batches that this client sent (docs/reading.md). */
export class RequestsClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * What became of one batch, with a page of the records that are more than plainly applied. Rejects with `bellhop.read.RequestNotFound`
   * (404) where no request of this client has the id.
   */
  get(requestId: string, query: StatusQuery = {}): Promise<RequestStatus> {
    return readStatus(this.#connection, requestId, query);
  }

  /** The same once every record has its outcome, or after `withinMs` (10 minutes) as it is then. */
  untilApplied(
    requestId: string,
    options: { readonly withinMs?: number; readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<RequestStatus> {
    return waitUntilApplied(this.#connection, requestId, options.withinMs ?? WAIT_MS, options);
  }

  /** Every record of a batch that is more than plainly applied (another outcome, or a warning), by index. */
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
