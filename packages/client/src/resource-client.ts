import type {
  GroupVersion,
  InventoryVersion,
  ListGroupsHistoryQuery,
  ListGroupsQuery,
  ListInventoriesHistoryQuery,
  ListInventoriesQuery,
  ListReservationsHistoryQuery,
  ListReservationsQuery,
  ReservationVersion,
} from "./api-types.ts";
import type { Records } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { readPages } from "./pages.ts";
import type { SendReport } from "./report.ts";
import type { RecordOf, Resource } from "./resource.ts";
import { send } from "./send.ts";
import type { SendOptions } from "./send-options.ts";

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
