import { type Change, type ChangesQuery, followChanges } from "./changes.ts";
import { Connection } from "./connection.ts";
import { type BellhopClientOptions, readOptions } from "./options.ts";
import { RequestsClient, ResourceClient } from "./resource-client.ts";

/**
 * A client of one Bellhop service, with the credentials of one partner. Make one and keep it; all its calls share a token,
 * which is asked for when the first of them needs it.
 *
 * @example
 * const bellhop = new BellhopClient({ baseUrl: "https://bellhop.example", clientId, clientSecret });
 * const report = await bellhop.reservations.send(reservations, { waitForOutcomes: true });
 * console.log(report.outcomes, report.rejected);
 */
export class BellhopClient {
  readonly inventories: ResourceClient<"inventories">;
  readonly reservations: ResourceClient<"reservations">;
  readonly groups: ResourceClient<"groups">;
  /** What became of batches. */
  readonly requests: RequestsClient;
  readonly #connection: Connection;

  /** Throws a BellhopError `client.InvalidOption` for an option that cannot be used. Nothing is sent yet. */
  constructor(options: BellhopClientOptions) {
    this.#connection = new Connection(readOptions(options));
    this.inventories = new ResourceClient(this.#connection, "inventories");
    this.reservations = new ResourceClient(this.#connection, "reservations");
    this.groups = new ResourceClient(this.#connection, "groups");
    this.requests = new RequestsClient(this.#connection);
  }

  /**
   * Follows the change feed: every change of current state of the client's properties, those of one record in their order, then
   * waits for more (docs/changes.md). Keep `change.cursor` once a change is dealt with, and begin there the next time.
   * An answer that is cut off is asked for again before anything of it is told. Rejects with a BellhopError, of status
   * 410 where the cursor is older than what the service keeps.
   *
   * @example
   * for await (const change of bellhop.changes({ cursor: await load() })) {
   *   await handle(change);
   *   await save(change.cursor);
   * }
   */
  changes(query: ChangesQuery = {}): AsyncIterableIterator<Change> {
    return followChanges(this.#connection, query);
  }

  /**
   * Any request to the service, with the client's token: the `fetch` of the platform, and its Response as it is. Nothing is
   * repeated, but for one renewal of a token that was refused. `path` begins with `/`; redirects are not followed.
   *
   * @example
   * const response = await bellhop.fetch("/api/insight/v1/pickup?clientCode=DEMO&propertyCode=LON01&since=2026-06-01");
   */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return this.#connection.fetch(path, init);
  }
}
