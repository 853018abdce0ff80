import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { loadRecords } from "../../src/query/load-records.ts";

/** Interval of sampling the windows. */
const LOOK_MS = 250;

/** A created or dropped window, and the samples before and after (milliseconds since 1970). */
export interface WindowEvent {
  readonly name: string;
  readonly what: "came" | "went";
  readonly afterMs: number;
  readonly beforeMs: number;
}

const WINDOWS = `select partition.relname as name from pg_class as partition
  join pg_namespace as place on place.oid = partition.relnamespace
  where partition.relispartition and partition.relkind = 'r' and place.nspname in ('bellhop', 'bellhop_state')`;

/** Observes windows, and permanent records meanwhile. */
export class WindowWatch {
  readonly events: WindowEvent[] = [];
  #client: pg.Client | undefined;
  #stopped = false;
  #looking: Promise<void> = Promise.resolve();
  #keys: readonly { readonly property_id: number; readonly key: string; readonly content_hash: string }[] =
    [];

  /** Starts sampling in a separate session. */
  async start(config: pg.ClientConfig): Promise<void> {
    const client = new pg.Client(config);
    this.#client = client;
    await client.connect();
    this.#looking = this.#look(client);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking.catch(() => undefined);
    await this.#client?.end();
  }

  /** Stores the current records and returns their number. */
  async rememberCurrent(client: pg.ClientBase): Promise<number> {
    const { rows } = await client.query<{ property_id: number; key: string; content_hash: string }>(
      "select property_id, key, content_hash::text as content_hash from bellhop_state.current_record",
    );
    this.#keys = rows;
    return rows.length;
  }

  /** How many stored records are no longer current or readable. */
  async countLost(client: pg.ClientBase): Promise<number> {
    const { rows } = await client.query<{ bucket: number; request_id: string; record_index: number }>(
      `select current.bucket, current.request_id, current.record_index
      from unnest($1::integer[], $2::text[], $3::text[]) as wanted (property_id, key, content_hash)
      join bellhop_state.current_record as current
        on current.property_id = wanted.property_id and current.key = wanted.key
        and current.content_hash::text = wanted.content_hash and current.resource = 'r'
      order by current.request_id, current.record_index`,
      [
        this.#keys.map(({ property_id }) => property_id),
        this.#keys.map(({ key }) => key),
        this.#keys.map(({ content_hash }) => content_hash),
      ],
    );
    let readable = 0;
    const pointers = rows.map((row) => ({
      bucket: row.bucket,
      requestId: row.request_id,
      index: row.record_index,
    }));
    for await (const bytes of loadRecords(client, pointers)) if (bytes.length > 100) readable += 1;
    return this.#keys.length - readable;
  }

  async #look(client: pg.Client): Promise<void> {
    let known: Set<string> | undefined;
    let lookedAt = Date.now();
    while (!this.#stopped) {
      const { rows } = await client.query<{ name: string }>(WINDOWS);
      const now = Date.now();
      const names = new Set(rows.map(({ name }) => name));
      for (const name of known === undefined ? [] : names)
        if (!known?.has(name)) this.events.push({ name, what: "came", afterMs: lookedAt, beforeMs: now });
      for (const name of known ?? [])
        if (!names.has(name)) this.events.push({ name, what: "went", afterMs: lookedAt, beforeMs: now });
      known = names;
      lookedAt = now;
      await delay(LOOK_MS);
    }
  }
}
