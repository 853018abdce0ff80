import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { lockSegments } from "../apply/ledger/write-ledger.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { endWithClient, openSession, reportProcess } from "../platform/db/connection.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import type { Property } from "../query/property.ts";
import { readSegmentProgress } from "./packed-books.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

const findToPack = readStatement(new URL("./sql/find-properties-to-pack.sql", import.meta.url));
const findUnpackableNight = readStatement(new URL("./sql/find-unpackable-night.sql", import.meta.url));
const findStretch = readStatement(new URL("./sql/find-stretch-to-pack.sql", import.meta.url));
const packNights = readStatement(new URL("./sql/pack-nights.sql", import.meta.url));
const mergeSegments = readStatement(new URL("./sql/merge-segments.sql", import.meta.url));
/** Records that property $2 is packed up to $3, unless it is already. */
const writeSegmentProgress = namedStatement(
  "write-segment-progress",
  `insert into bellhop_state.ledger_segment_progress as packed (bucket, property_id, received_up_to)
  values ($1, $2, $3)
  on conflict (bucket, property_id) do update set received_up_to = excluded.received_up_to
  where packed.received_up_to < excluded.received_up_to`,
);

/** Entries received within this time are read as rows: some hundred for a hotel's day. */
const PACK_MS = 600_000;
/** Nearly everything received this long before a check had been applied by then; the rest is packed when more arrives. */
const AGAIN_MS = 3_600_000;
const BEFORE_ALL = "-infinity";
/** Entries that one statement packs: 26 MB, which PostgreSQL holds in memory, and refuses from 1 GB on. */
const STRETCH_ENTRIES_MAX = 500_000;
/**
 * Idle time after each property, as a multiple of the time it took: packing 100,000 entries costs PostgreSQL a second and slows appliers.
 */
const RESTS = 4;
/** Allows for some millions of entries of one property under full load; also detects a connection lost by the network. */
const ANSWER_MS_MAX = 60_000;

/**
 * Packs a property's entries received since it was last packed, in the transaction that has locked its segments. No entry may later be
 * added at or before the instant, except by `deleteSegments`. Does nothing if it is packed further or a number does not fit.
 */
export async function packUpTo(
  client: pg.ClientBase,
  { bucket, propertyId }: Property,
  upTo: string,
  entriesMax = STRETCH_ENTRIES_MAX,
): Promise<void> {
  const place = [bucket, propertyId];
  const { rows } = await client.query<{ received_up_to: string }>({ ...readSegmentProgress, values: place });
  const first = rows[0]?.received_up_to ?? BEFORE_ALL;
  const unpackable = await client.query<{ found: boolean }>({
    ...findUnpackableNight,
    values: [...place, first, upTo],
  });
  if (unpackable.rows[0]?.found !== false) return;
  const { rowCount } = await client.query({ ...writeSegmentProgress, values: [...place, upTo] });
  if (rowCount === 0) return;
  for (let after = first; after !== upTo; ) {
    const found = await client.query<{ upTo: string }>({
      ...findStretch,
      values: [...place, after, upTo, entriesMax],
    });
    const until = found.rows[0]?.upTo ?? upTo;
    await client.query({ ...packNights, values: [...place, after, until] });
    after = until;
  }
  await client.query({ ...mergeSegments, values: place });
}

async function packProperty(pool: pg.Pool, session: pg.Pool | pg.Client, property: Property): Promise<void> {
  const settled = await settledReceipts(pool, property);
  if (settled === null) return;
  await withTransaction(session, async (client) => {
    await lockSegments(client, property);
    const upTo = await watermarkOf(client, property, settled);
    if (upTo !== null) await packUpTo(client, property, upTo);
  });
}

interface PropertyToPack {
  readonly bucket: number;
  readonly property_id: number;
}

/** The properties that received something after this id, and those without segments; all with entries if it is null. */
async function findPropertiesToPack(pool: pg.Pool, after: string | null): Promise<PropertyToPack[]> {
  const properties = await pool.query<PropertyToPack>("select bucket, property_id from bellhop.property");
  const values = [
    after,
    properties.rows.map(({ bucket }) => bucket),
    properties.rows.map(({ property_id }) => property_id),
  ];
  return (await pool.query<PropertyToPack>({ ...findToPack, values })).rows;
}

/** Periodically packs the ledgers of properties, each in a separate transaction. Several nodes may do so concurrently. */
export class LedgerPacker {
  readonly #pool: pg.Pool;
  readonly #failed: (error: unknown) => void;
  readonly #openSession: (() => Promise<pg.Client>) | undefined;
  /** The id up to which this node has checked arrivals. */
  #lookedUpTo: string | null = null;
  readonly #ending = new AbortController();

  /**
   * `openSession` opens the session that writes segments; by default sessions of the pool. `failed` is called for properties that could not
   * be packed.
   */
  constructor(pool: pg.Pool, failed: (error: unknown) => void, openSession?: () => Promise<pg.Client>) {
    this.#pool = pool;
    this.#failed = failed;
    this.#openSession = openSession;
  }

  /** Packs every property that has new entries. */
  async pack(): Promise<void> {
    const { rows: clock } = await this.#pool.query<{ ms: number }>(
      "select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms",
    );
    const found = await findPropertiesToPack(this.#pool, this.#lookedUpTo);
    if (found.length > 0 && !(await this.#packAll(found))) return;
    this.#lookedUpTo = clock[0] === undefined ? null : lowestIdAt(clock[0].ms - AGAIN_MS);
  }

  /** Starts no further property. */
  stop(): void {
    this.#ending.abort();
  }

  /** Whether all were packed before `stop`. Throws if no session can be opened. */
  async #packAll(properties: readonly PropertyToPack[]): Promise<boolean> {
    const { signal } = this.#ending;
    let session: pg.Client | undefined;
    // Stopping the node does not wait for a long statement: its transaction is rolled back.
    const end = () => session?.end();
    signal.addEventListener("abort", end);
    let hasFailed = false;
    try {
      for (const { bucket, property_id } of properties) {
        session ??= await this.#openSession?.();
        if (signal.aborted) return false;
        const begunAt = performance.now();
        try {
          await packProperty(this.#pool, session ?? this.#pool, { bucket, propertyId: property_id });
        } catch (error) {
          if (signal.aborted) return false;
          hasFailed = true;
          this.#failed(error);
          // The session may be broken: open another for the next property.
          await session?.end();
          session = undefined;
        }
        const restMs = RESTS * (performance.now() - begunAt);
        await delay(restMs, undefined, { signal }).catch(() => undefined);
      }
      return !hasFailed;
    } finally {
      signal.removeEventListener("abort", end);
      await session?.end();
    }
  }
}

/** Options of `keepLedgersPacked`. `packing` is called with the server process that packs. */
interface PackingOptions {
  readonly pool: pg.Pool;
  readonly clientConfig: pg.ClientConfig;
  packing(processId: number): void;
  failed(error: unknown): void;
}

/** Packs ledgers every ten minutes; reports failures to `failed` and retries. */
export function keepLedgersPacked({ pool, clientConfig, packing, failed }: PackingOptions): {
  stop(): Promise<void>;
} {
  const bounds = { query_timeout: ANSWER_MS_MAX, statement_timeout: ANSWER_MS_MAX };
  const packer = new LedgerPacker(pool, failed, () =>
    openSession({ ...clientConfig, ...bounds }, "packing", async (client) => {
      await endWithClient(client);
      reportProcess(client, packing);
    }),
  );
  const repeat = new Repeat(() => packer.pack(), PACK_MS, failed);
  return {
    stop: () => {
      packer.stop();
      return repeat.stop();
    },
  };
}
