import type pg from "pg";
import { RESOURCE_LETTERS, type ResourceLetter } from "../../state/version-tables.ts";
import type { Retained, Terms } from "./terms.ts";

/** A client code and the buckets that its properties lie in. */
export interface KnownClient {
  readonly clientCode: string;
  readonly buckets: readonly number[];
}

/** Every client code of which there is a property. */
export async function readClients(client: pg.ClientBase): Promise<KnownClient[]> {
  const { rows } = await client.query<{ client_code: string; buckets: number[] }>(
    "select client_code, array_agg(distinct bucket) as buckets from bellhop.property group by client_code order by client_code",
  );
  return rows.map(({ client_code: clientCode, buckets }) => ({ clientCode, buckets }));
}

/** What is past its term of everything that is older than an instant. */
export class PastTerm {
  readonly #clients: readonly KnownClient[];
  readonly #isPast: (clientCode: string, resource: ResourceLetter, kind: Retained) => boolean;
  readonly #outcomesKept = new Set<string>();

  /** `ageMs`: how old the youngest of it is. */
  constructor(clients: readonly KnownClient[], terms: Terms, ageMs: number) {
    this.#clients = clients;
    this.#isPast = (clientCode, resource, kind) => terms.of(clientCode, resource, kind) <= ageMs;
    for (const resource of RESOURCE_LETTERS) {
      for (const { clientCode, buckets } of clients)
        if (!this.#isPast(clientCode, resource, "outcomes"))
          for (const bucket of buckets) this.#outcomesKept.add(`${bucket} ${resource}`);
    }
  }

  isPast(clientCode: string, resource: ResourceLetter, kind: Retained): boolean {
    return this.#isPast(clientCode, resource, kind);
  }

  /**
   * Whether what became of a part may go: the outcomes of all client codes that have a property in its bucket, since a part
   * does not say whose records it holds.
   */
  areOutcomesPast(bucket: number, resource: ResourceLetter): boolean {
    return !this.#outcomesKept.has(`${bucket} ${resource}`);
  }

  /** Whose is past its term: of a resource and kind all, none or some of the client codes. */
  shareOf(resource: ResourceLetter, kind: Retained): "all" | "none" | "some" {
    const past = this.#clients.filter(({ clientCode }) => this.#isPast(clientCode, resource, kind)).length;
    return past === 0 ? "none" : past === this.#clients.length ? "all" : "some";
  }

  /** Everything that is past its term of some kinds; the same text, the same things. */
  listOf(
    kinds: readonly Retained[],
  ): readonly { clientCode: string; resource: ResourceLetter; kind: Retained }[] {
    return kinds.flatMap((kind) =>
      RESOURCE_LETTERS.flatMap((resource) =>
        this.#clients.flatMap(({ clientCode }) =>
          this.#isPast(clientCode, resource, kind) ? [{ clientCode, resource, kind }] : [],
        ),
      ),
    );
  }
}
