import type pg from "pg";
import { bucketOf } from "../ingest/log/bucket.ts";

/** Most properties remembered; past it the memory is begun anew. */
const KNOWN_MAX = 400_000;

/**
 * The small number of a property, as accept registered it before it wrote the batch. Where accept remembered a row that
 * the database has not got (a failover to a server that was behind lost it), it is made here: the log is the truth.
 */
export class PropertyDirectory {
  readonly #pool: pg.Pool;
  readonly #ids = new Map<string, number>();
  /** The last one that was known: records of one property come together. */
  #last: { readonly clientCode: string; readonly propertyCode: string; readonly id: number } | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** The number of a property that has been asked for before. */
  knownIdOf(clientCode: string, propertyCode: string): number | undefined {
    const last = this.#last;
    if (last?.propertyCode === propertyCode && last.clientCode === clientCode) return last.id;
    const id = this.#ids.get(`${clientCode}\0${propertyCode}`);
    if (id !== undefined) this.#last = { clientCode, propertyCode, id };
    return id;
  }

  async idOf(clientCode: string, propertyCode: string): Promise<number> {
    const known = this.knownIdOf(clientCode, propertyCode);
    if (known !== undefined) return known;
    const id =
      (await this.#find(clientCode, propertyCode)) ?? (await this.#restore(clientCode, propertyCode));
    if (this.#ids.size >= KNOWN_MAX) this.#ids.clear();
    this.#ids.set(`${clientCode}\0${propertyCode}`, id);
    return id;
  }

  async #find(clientCode: string, propertyCode: string): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ property_id: number }>({
      name: "find-property",
      text: "select property_id from bellhop.property where client_code = $1 and property_code = $2",
      values: [clientCode, propertyCode],
    });
    return rows[0]?.property_id;
  }

  async #restore(clientCode: string, propertyCode: string): Promise<number> {
    await this.#pool.query(
      `insert into bellhop.property (client_code, property_code, bucket, created_by)
      values ($1, $2, $3, 'bellhop apply') on conflict (client_code, property_code) do nothing`,
      [clientCode, propertyCode, bucketOf(clientCode, propertyCode)],
    );
    const id = await this.#find(clientCode, propertyCode);
    if (id === undefined) throw new Error("A property of the log could not be registered.");
    return id;
  }
}
