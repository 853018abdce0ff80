import { type Change, type ChangesQuery, followChanges } from "./changes.ts";
import { Connection } from "./connection.ts";
import { type BellhopClientOptions, readOptions } from "./options.ts";
import { RequestsClient, ResourceClient } from "./resource-client.ts";

/**
 * A client of one Bellhop service with the credentials of one partner. Create one and reuse it: its calls share a token.
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
  readonly requests: RequestsClient;
  readonly #connection: Connection;

  /** Sends nothing. Throws `client.InvalidOption` for an invalid option. */
  constructor(options: BellhopClientOptions) {
    this.#connection = new Connection(readOptions(options));
    this.inventories = new ResourceClient(this.#connection, "inventories");
    this.reservations = new ResourceClient(this.#connection, "reservations");
    this.groups = new ResourceClient(this.#connection, "groups");
    this.requests = new RequestsClient(this.#connection);
  }

  /**
   * Follows the change feed: every change of current state, per record in order, then waits for more (docs/changes.md). Store
   * `change.cursor` once a change is handled and resume there. Rejects with status 410 where the cursor has expired.
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
   * Any request to the service with the client's token, and its Response. Nothing is retried, except once with a new token where
   * the service refused it. `path` begins with `/`; redirects are not followed.
   *
   * @example
   * const response = await bellhop.fetch("/api/insight/v1/pickup?clientCode=DEMO&propertyCode=LON01&since=2026-06-01");
   */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return this.#connection.fetch(path, init);
  }

  /**
   * The access token that this client uses, for a tool of its own such as curl. Requested only if there is no valid one, so it
   * takes none of the client's token allowance otherwise. Keep it secret.
   */
  async accessToken(): Promise<string> {
    return (await this.#connection.tokens.current()).value;
  }
}
