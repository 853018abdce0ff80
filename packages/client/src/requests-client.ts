import type { ListRequestsQuery, RecordOutcome, RequestStatus, RequestSummary } from "./api-types.ts";
import type { Connection } from "./connection.ts";
import { listOutcomes, readStatus, type StatusQuery, waitUntilApplied } from "./outcomes.ts";
import { readPages } from "./pages.ts";

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
