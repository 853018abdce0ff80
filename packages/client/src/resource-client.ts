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
import type { Records } from "./batch.ts";
import { apiPath, type Connection } from "./connection.ts";
import { readJson } from "./http.ts";
import type { RecordOf, Resource, SendOptions } from "./options.ts";
import {
  type ListedOutcome,
  listOutcomes,
  readStatus,
  type StatusQuery,
  waitUntilApplied,
} from "./outcomes.ts";
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

  /** The records of a batch, by index: those with this outcome, or `all`. By default those that were not applied or have warnings. */
  outcomes(
    requestId: string,
    options: { readonly outcome?: ListedOutcome; readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<RecordOutcome> {
    return listOutcomes(this.#connection, requestId, options);
  }

  /** This client's requests, newest first. */
  list(
    query: ListRequestsQuery = {},
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<RequestSummary> {
    return readPages(this.#connection, "requests", { ...query }, options.signal);
  }
}
