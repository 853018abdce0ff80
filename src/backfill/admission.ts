import type pg from "pg";
import type { Resource } from "#contract/resource.ts";
import type { Admitted, BackfillGate } from "../ingest/data-context.ts";
import { readStatement } from "../platform/db/statement.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { type Backfill, findBackfill } from "./backfill.ts";

const READ_WAITING = readStatement(new URL("./sql/read-waiting.sql", import.meta.url));

/** Cache lifetime of an open backfill: a batch may be accepted this long after it was closed. */
const KNOWN_MS = 1_000;
const KNOWN_MAX = 1_000;
/**
 * Unapplied records and batches per backfill. With a `Retry-After` of one second this allows 500 to 1,500 records a second, about a tenth
 * of an applier's rate; 2,000 slowed other clients down (docs/decisions/0007).
 */
const WAITING_RECORDS_MAX = 500;
const WAITING_BATCHES_MAX = 16;
/** Batches of one backfill that a thread reads concurrently, as their size is unknown before. */
const IN_FLIGHT_MAX = 2;
const RETRY_AFTER_SECONDS = 1;

/** Admits backfill batches before their body is read: only of the client's open backfills, and limited in number. One per thread. */
export class BackfillAdmission implements BackfillGate {
  readonly #pool: pg.Pool;
  readonly #known = new Map<string, { readonly backfill: Backfill; readonly until: number }>();
  readonly #inFlight = new Map<string, number>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /**
   * Throws ServiceError: `bellhop.backfill.UnknownBackfill` (422) if it is not this client's, `NotOpen` (409), `NotInManifest` (422) if the
   * manifest lacks the resource, `Ahead` (429) if too much of it is unapplied.
   */
  async admit(clientId: string, backfillId: string, resource: Resource): Promise<Admitted> {
    const { manifest, bucket } = await this.#openOne(clientId, backfillId);
    if (!manifest.resources.some((named) => named.resource === resource))
      throw new ServiceError("bellhop.backfill.NotInManifest", {
        message: `The manifest of this backfill does not name ${resource}.`,
      });
    const inFlight = this.#inFlight.get(backfillId) ?? 0;
    if (inFlight >= IN_FLIGHT_MAX) throw ahead();
    this.#inFlight.set(backfillId, inFlight + 1);
    const done = () => {
      const left = (this.#inFlight.get(backfillId) ?? 1) - 1;
      if (left > 0) this.#inFlight.set(backfillId, left);
      else this.#inFlight.delete(backfillId);
    };
    try {
      if (await this.#isAhead(backfillId, bucket)) throw ahead();
    } catch (error) {
      done();
      throw error;
    }
    const { clientCode, propertyCode } = manifest;
    return { clientCode, propertyCode, stillOpen: () => this.#openOne(clientId, backfillId), done };
  }

  async #openOne(clientId: string, backfillId: string): Promise<Backfill> {
    const backfill = await this.#find(clientId, backfillId);
    if (backfill.state === "open") return backfill;
    throw new ServiceError("bellhop.backfill.NotOpen", {
      message: `This backfill is ${backfill.state}: send the batch without Backfill-Id, or open another backfill.`,
    });
  }

  async #find(clientId: string, backfillId: string): Promise<Backfill> {
    const known = this.#known.get(backfillId);
    if (known?.backfill.clientId === clientId && performance.now() < known.until) return known.backfill;
    const found = await findBackfill(this.#pool, backfillId, clientId);
    if (found === undefined) throw new ServiceError("bellhop.backfill.UnknownBackfill");
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    // Do not cache the statement, which may be long.
    const backfill = { ...found, statement: null, signatures: [] };
    this.#known.set(backfillId, { backfill, until: performance.now() + KNOWN_MS });
    return backfill;
  }

  async #isAhead(backfillId: string, bucket: number): Promise<boolean> {
    const values = [bucket, backfillId, WAITING_BATCHES_MAX];
    const asked = { ...READ_WAITING, values };
    const { rows } = await this.#pool.query<{ batches: number; records: number }>(asked);
    const { batches = 0, records = 0 } = rows[0] ?? {};
    return batches >= WAITING_BATCHES_MAX || records >= WAITING_RECORDS_MAX;
  }
}

function ahead(): ServiceError {
  return new ServiceError("bellhop.backfill.Ahead", { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
