import type pg from "pg";
import { readStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { bucketOf } from "./part-name.ts";
import type { SubmittedRecord } from "./submission.ts";

const registerProperties = readStatement(new URL("./sql/register-properties.sql", import.meta.url));

/** Limit of cached properties, about 100 bytes each; the cache is cleared when it is reached. */
const KNOWN_MAX = 400_000;

/** All clients of a client code together may name this many times the new properties of one: an operator of a code may create many. */
const OF_CLIENT_CODE = 10;

interface NewProperty {
  readonly client_code: string;
  readonly property_code: string;
  readonly bucket: number;
}

/** Registers the properties of a batch before it is written. */
export class PropertyRegister {
  readonly #pool: pg.Pool;
  readonly #newPerDayMax: number;
  readonly #known = new Set<string>();
  /** By client: settles, without rejecting, when its running registration ends. */
  readonly #adding = new Map<string, Promise<void>>();

  constructor(pool: pg.Pool, newPerDayMax: number) {
    this.#pool = pool;
    this.#newPerDayMax = newPerDayMax;
  }

  /** Undefined if all are known. Rejects with `bellhop.accept.TooManyNewProperties`, adding none, if the client exceeds its daily limit. */
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
    // One registration per client at a time: others would wait for the client's lock while occupying a pool connection.
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
        message: `A client may name ${this.#newPerDayMax} new properties in 24 hours, and all clients of a client code ${OF_CLIENT_CODE * this.#newPerDayMax}; this batch would exceed that.`,
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
      // Consecutive records usually have the same property.
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

  #add(clientId: string, wanted: readonly NewProperty[]): Promise<boolean> {
    return withTransaction(this.#pool, async (client) => {
      await client.query("select pg_advisory_xact_lock(7302002, hashtext($1))", [clientId]);
      const most = this.#newPerDayMax;
      const values = [clientId, JSON.stringify(wanted), most, OF_CLIENT_CODE * most];
      const { rows } = await client.query<{ yes: boolean }>({ ...registerProperties, values });
      return rows[0]?.yes === true;
    });
  }
}
