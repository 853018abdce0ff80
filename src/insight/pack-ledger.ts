import type pg from "pg";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import { withTransaction } from "../db/transaction.ts";
import { lockPacks } from "../ledger/packs.ts";
import type { InsightProperty } from "./point-in-time.ts";
import { readWithParts } from "./statement-parts.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

const findToPack = readStatement(new URL("./sql/find-properties-to-pack.sql", import.meta.url));
const findToPackDistributed = readStatement(
  new URL("./sql/find-properties-to-pack-distributed.sql", import.meta.url),
);
const findUnpackableNight = readStatement(new URL("./sql/find-unpackable-night.sql", import.meta.url));
const packNights = readWithParts(new URL("./sql/pack-nights.sql", import.meta.url));
const mergePacks = readStatement(new URL("./sql/merge-packs.sql", import.meta.url));
const writePackProgress = readStatement(new URL("./sql/write-pack-progress.sql", import.meta.url));
const readPackProgress = readStatement(new URL("./sql/read-pack-progress.sql", import.meta.url));

/** What was received since then is read as rows: of a hotel's day some hundred entries. */
const PACK_MS = 600_000;
const BEFORE_ALL = "-infinity";

/**
 * Packs what was received since a property was packed last, in the transaction that has locked its packs, up to an instant at or before
 * which nothing can be entered any more but by who takes the packs away (`voidPacks`). Does nothing where it is packed further,
 * or where something does not fit.
 */
export async function packUpTo(
  client: pg.ClientBase,
  { bucket, propertyId }: InsightProperty,
  upTo: string,
): Promise<void> {
  const { rows } = await client.query<{ received_up_to: string }>({
    ...readPackProgress,
    values: [bucket, propertyId],
  });
  const stretch = [bucket, propertyId, rows[0]?.received_up_to ?? BEFORE_ALL, upTo];
  const unpackable = await client.query<{ found: boolean }>({ ...findUnpackableNight, values: stretch });
  if (unpackable.rows[0]?.found !== false) return;
  const { rowCount } = await client.query({ ...writePackProgress, values: [bucket, propertyId, upTo] });
  if (rowCount === 0) return;
  await client.query({ ...packNights, values: stretch });
  await client.query({ ...mergePacks, values: [bucket, propertyId] });
}

async function packProperty(pool: pg.Pool, property: InsightProperty): Promise<void> {
  const settled = await settledReceipts(pool, property);
  if (settled === null) return;
  await withTransaction(pool, async (client) => {
    await lockPacks(client, property);
    const upTo = await watermarkOf(client, property, settled);
    if (upTo !== null) await packUpTo(client, property, upTo);
  });
}

interface PropertyToPack {
  readonly bucket: number;
  readonly property_id: number;
}

/** Those that have entries which were received after this, and those without packs; all that have entries where it is null. */
async function findPropertiesToPack(pool: pg.Pool, after: string | null): Promise<PropertyToPack[]> {
  if (!(await isDistributed(pool)))
    return (await pool.query<PropertyToPack>({ ...findToPack, values: [after] })).rows;
  const properties = await pool.query<PropertyToPack>("select bucket, property_id from bellhop.property");
  const values = [
    after,
    properties.rows.map(({ bucket }) => bucket),
    properties.rows.map(({ property_id }) => property_id),
  ];
  return (await pool.query<PropertyToPack>({ ...findToPackDistributed, values })).rows;
}

/** Packs the ledgers of properties, from time to time, each in a transaction of its own; several nodes may. */
export class LedgerPacker {
  readonly #pool: pg.Pool;
  /** This node has looked at what was received up to an hour before it looked last: nearly all of that had been applied by then. */
  #lookedUpTo: string | null = null;
  #isStopped = false;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Packs every property that has new entries. */
  async pack(): Promise<void> {
    const { rows: clock } = await this.#pool.query<{ now: string }>(
      "select (clock_timestamp() - interval '1 hour')::text as now",
    );
    for (const { bucket, property_id } of await findPropertiesToPack(this.#pool, this.#lookedUpTo)) {
      if (this.#isStopped) return;
      await packProperty(this.#pool, { bucket, propertyId: property_id });
    }
    this.#lookedUpTo = clock[0]?.now ?? null;
  }

  /** No further property is begun. */
  stop(): void {
    this.#isStopped = true;
  }
}

/** Packs ledgers every ten minutes; what fails is told and tried again. */
export function keepLedgersPacked(
  pool: pg.Pool,
  failed: (error: unknown) => void,
): { stop(): Promise<void> } {
  const packer = new LedgerPacker(pool);
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(() => packer.pack()).catch(failed);
  }, PACK_MS).unref();
  return {
    stop: () => {
      clearInterval(timer);
      packer.stop();
      return running;
    },
  };
}
