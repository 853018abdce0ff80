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
const packNights = readStatement(new URL("./sql/pack-nights.sql", import.meta.url));
const mergeSegments = readStatement(new URL("./sql/merge-segments.sql", import.meta.url));
/** Notes that the property $2 is packed up to $3; nothing where it is already. */
const writeSegmentProgress = namedStatement(
  "write-segment-progress",
  `insert into bellhop_state.ledger_segment_progress as packed (bucket, property_id, received_up_to)
  values ($1, $2, $3)
  on conflict (bucket, property_id) do update set received_up_to = excluded.received_up_to
  where packed.received_up_to < excluded.received_up_to`,
);

/** What was received since then is read as rows: of a hotel's day some hundred entries. */
const PACK_MS = 600_000;
/** What was received up to so long before a node looked had nearly all been applied by then: the rest is packed when more comes. */
const AGAIN_MS = 3_600_000;
const BEFORE_ALL = "-infinity";
/** Rests this many times as long as the last property took: 100,000 entries cost PostgreSQL a second and slow down appliers. */
const RESTS = 4;
/** Some millions of entries of one property, beside full load; a session that is forgotten by the network is noticed then. */
const ANSWER_MS_MAX = 60_000;

/**
 * Packs what was received since a property was packed last, in the transaction that has locked its segments, up to an instant at or before
 * which nothing can be entered any more but by who takes the segments away (`voidSegments`). Does nothing where it is packed further,
 * or where something does not fit.
 */
export async function packUpTo(
  client: pg.ClientBase,
  { bucket, propertyId }: Property,
  upTo: string,
): Promise<void> {
  const { rows } = await client.query<{ received_up_to: string }>({
    ...readSegmentProgress,
    values: [bucket, propertyId],
  });
  const stretch = [bucket, propertyId, rows[0]?.received_up_to ?? BEFORE_ALL, upTo];
  const unpackable = await client.query<{ found: boolean }>({ ...findUnpackableNight, values: stretch });
  if (unpackable.rows[0]?.found !== false) return;
  const { rowCount } = await client.query({ ...writeSegmentProgress, values: [bucket, propertyId, upTo] });
  if (rowCount === 0) return;
  await client.query({ ...packNights, values: stretch });
  await client.query({ ...mergeSegments, values: [bucket, propertyId] });
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

/** Those for which something was received after this id, and those without segments; all that have entries where it is null. */
async function findPropertiesToPack(pool: pg.Pool, after: string | null): Promise<PropertyToPack[]> {
  const properties = await pool.query<PropertyToPack>("select bucket, property_id from bellhop.property");
  const values = [
    after,
    properties.rows.map(({ bucket }) => bucket),
    properties.rows.map(({ property_id }) => property_id),
  ];
  return (await pool.query<PropertyToPack>({ ...findToPack, values })).rows;
}

/** Packs the ledgers of properties, from time to time, each in a transaction of its own; several nodes may. */
export class LedgerPacker {
  readonly #pool: pg.Pool;
  readonly #failed: (error: unknown) => void;
  readonly #openSession: (() => Promise<pg.Client>) | undefined;
  /** The id up to which this node has looked at what was received. */
  #lookedUpTo: string | null = null;
  readonly #ending = new AbortController();

  /** `openSession`: for the session that writes segments; by default sessions of the pool. `failed` hears of properties that could not be packed. */
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

  /** No further property is begun. */
  stop(): void {
    this.#ending.abort();
  }

  /** Whether all of them were packed before it was stopped. Throws when no session can be opened. */
  async #packAll(properties: readonly PropertyToPack[]): Promise<boolean> {
    const { signal } = this.#ending;
    let session: pg.Client | undefined;
    // Nobody waits for a long statement when the node stops: its transaction is rolled back.
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
          // It may be the session that is broken: the next property gets another.
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

/** What a node segments ledgers with, and who hears of it: `packing` of the server's process that does, as soon as it is there. */
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
