import type pg from "pg";
import { readStatement } from "../../platform/db/statement.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { bucketOf } from "./bucket.ts";
import type { SubmittedRecord } from "./submission.ts";

const registerProperties = readStatement(new URL("./sql/register-properties.sql", import.meta.url));

/** Known pairs are kept in memory up to this many (about 100 bytes each); past it the memory is begun anew. */
const KNOWN_MAX = 400_000;

interface NewProperty {
  readonly client_code: string;
  readonly property_code: string;
  readonly bucket: number;
}

/** Makes sure that every property a batch names has its row before the batch is written. */
export class PropertyRegister {
  readonly #pool: pg.Pool;
  readonly #newPerDayMax: number;
  readonly #known = new Set<string>();
  /** Settles, and never rejects, once the client's running addition is over and is here no more. */
  readonly #adding = new Map<string, Promise<void>>();

  constructor(pool: pg.Pool, newPerDayMax: number) {
    this.#pool = pool;
    this.#newPerDayMax = newPerDayMax;
  }

  /**
   * Undefined where all are known already. Otherwise rejects with ServiceError `bellhop.accept.TooManyNewProperties` when
   * the client's day is used up; nothing is added then.
   */
  register(clientId: string, records: readonly SubmittedRecord[]): Promise<void> | undefined {
    const unknown = this.#unknownOf(records);
    return unknown.size === 0 ? undefined : this.#registerUnknown(clientId, records, unknown);
  }

  async #registerUnknown(
    clientId: string,
    records: readonly SubmittedRecord[],
    found: Map<string, NewProperty>,
  ): Promise<void> {
    let unknown = found;
    // One at a time of a client: the first batches of a new property come together, and each would wait on the client's
    // lock in the database with a connection of the pool that the other clients need.
    for (let adding = this.#adding.get(clientId); unknown.size > 0 && adding !== undefined; ) {
      await adding;
      unknown = this.#unknownOf(records);
      adding = this.#adding.get(clientId);
    }
    if (unknown.size === 0) return;
    const added = this.#addUnknown(clientId, unknown);
    const over = added.catch(() => undefined).finally(() => this.#adding.delete(clientId));
    this.#adding.set(clientId, over);
    await added;
  }

  async #addUnknown(clientId: string, unknown: ReadonlyMap<string, NewProperty>): Promise<void> {
    if (!(await this.#add(clientId, [...unknown.values()]))) {
      throw new ServiceError("bellhop.accept.TooManyNewProperties", {
        message: `This client may name ${this.#newPerDayMax} new properties in 24 hours; this batch would exceed that.`,
        retryAfterSeconds: 3600,
      });
    }
    if (this.#known.size + unknown.size > KNOWN_MAX) this.#known.clear();
    for (const pair of unknown.keys()) this.#known.add(pair);
  }

  #unknownOf(records: readonly SubmittedRecord[]): Map<string, NewProperty> {
    const unknown = new Map<string, NewProperty>();
    let last: SubmittedRecord | undefined;
    for (const record of records) {
      const { clientCode, propertyCode } = record;
      // Most batches name one property: it is looked up once.
      if (last?.clientCode === clientCode && last.propertyCode === propertyCode) continue;
      last = record;
      const pair = `${clientCode}\0${propertyCode}`;
      if (this.#known.has(pair) || unknown.has(pair)) continue;
      unknown.set(pair, {
        client_code: clientCode,
        property_code: propertyCode,
        bucket: bucketOf(clientCode, propertyCode),
      });
    }
    return unknown;
  }

  async #add(clientId: string, wanted: readonly NewProperty[]): Promise<boolean> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock(7302002, hashtext($1))", [clientId]);
      const { rows } = await client.query<{ yes: boolean }>({
        ...registerProperties,
        values: [clientId, JSON.stringify(wanted), this.#newPerDayMax],
      });
      await client.query("commit");
      client.release();
      return rows[0]?.yes === true;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  }
}
