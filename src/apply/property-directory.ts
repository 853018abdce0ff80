import type pg from "pg";

/** Most properties remembered; past it the memory is begun anew. */
const KNOWN_MAX = 400_000;

/** The small number of a property, as accept registered it before it wrote the batch. */
export class PropertyDirectory {
  readonly #pool: pg.Pool;
  readonly #ids = new Map<string, number>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async idOf(clientCode: string, propertyCode: string): Promise<number> {
    const pair = `${clientCode}\0${propertyCode}`;
    const known = this.#ids.get(pair);
    if (known !== undefined) return known;
    const { rows } = await this.#pool.query<{ property_id: number }>({
      name: "find-property",
      text: "select property_id from bellhop.property where client_code = $1 and property_code = $2",
      values: [clientCode, propertyCode],
    });
    const id = rows[0]?.property_id;
    if (id === undefined) throw new Error("A record in the log names a property that was never registered.");
    if (this.#ids.size >= KNOWN_MAX) this.#ids.clear();
    this.#ids.set(pair, id);
    return id;
  }
}
