import type pg from "pg";
import { lowestIdAt } from "../accept/request-id.ts";
import { readStatement } from "../db/statement.ts";
import { type Queryable, withTransaction } from "../db/transaction.ts";
import { ServiceError } from "../errors/registry.ts";
import { settledReceipts, watermarkOf } from "../insight/watermark.ts";
import { after, lowestIdFrom, readInstant } from "../read/instant.ts";
import { type Backfill, requireBackfill } from "./backfill.ts";
import { lateOf, onBackfill, sceneOf } from "./progress.ts";
import { gapsInWords, type WrittenStatement, writeStatement } from "./statement.ts";

const closeStatement = readStatement(new URL("./sql/close-backfill.sql", import.meta.url));
const NOW = `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`;

/** A watermark lies two to three seconds behind the clock. */
const RETRY_AFTER_SECONDS = 3;
/** Where no watermark has been settled yet: no flush takes so long, so nothing older than this can still appear. */
const SETTLED_BEHIND_MS = 30_000;

/** Written down beside what is done, in the same transaction (src/auth/audit.ts). */
export type Audit = (
  connection: Queryable,
  what: string,
  detail: Readonly<Record<string, unknown>>,
) => Promise<void>;

interface Closing extends WrittenStatement {
  readonly closedAt: string;
  readonly countedTo: string;
}

/** At or below this id nothing of the property is yet to be applied, and nothing more can appear. */
async function settledRequest(
  client: Queryable,
  { bucket }: Backfill,
  settled: string | null,
  now: string,
): Promise<string> {
  if (settled === null) return lowestIdAt(Date.parse(now) - SETTLED_BEHIND_MS);
  const watermark = readInstant((await watermarkOf(client, { bucket }, settled)) ?? "");
  if (watermark === undefined) throw new Error("A settled receipt has no watermark.");
  return lowestIdFrom(after(watermark));
}

async function prepare(pool: pg.Pool, backfill: Backfill, acceptGaps: boolean): Promise<Closing> {
  // Before the snapshot, as a watermark has to be.
  const settled = await settledReceipts(pool, backfill);
  return withTransaction(
    pool,
    async (client) => {
      const { rows } = await client.query<{ now: string }>(NOW);
      const closedAt = rows[0]?.now ?? "";
      const countedTo = await settledRequest(client, backfill, settled, closedAt);
      const { late, waiting } = await lateOf(client, backfill, countedTo);
      if (late + waiting > 0)
        throw new ServiceError("bellhop.backfill.NotReady", {
          message: `${late + waiting} batches of this backfill are not applied yet, or were received within the last seconds. Close it again later.`,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      const scene = await sceneOf(client, backfill, countedTo);
      return { ...(await writeStatement(backfill, scene, closedAt, acceptGaps)), closedAt, countedTo };
    },
    { isolation: "repeatable read", readOnly: true },
  );
}

/**
 * Closes a client's backfill: writes its statement, signed by the client. Closing one that is closed answers it as it is. Throws
 * ServiceError: `NotFound`, `NotOpen` (it was abandoned), `NotReady` (409, with Retry-After: something is not applied yet),
 * `HasGaps` (409: something is missing, and `acceptGaps` was not said).
 */
export async function closeBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  acceptGaps: boolean,
  audit: Audit,
): Promise<Backfill> {
  const { backfillId, clientId, state } = backfill;
  if (state === "closed") return backfill;
  if (state === "abandoned")
    throw new ServiceError("bellhop.backfill.NotOpen", { message: "This backfill was abandoned." });
  const { statement, text, hash, closedAt, countedTo } = await prepare(pool, backfill, acceptGaps);
  if (!statement.complete && !acceptGaps)
    throw new ServiceError("bellhop.backfill.HasGaps", {
      message: `Something is missing: ${gapsInWords(statement)}. Send it, or close with acceptGaps.`,
    });
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({
      ...closeStatement,
      values: [backfillId, closedAt, countedTo, text, hash, `client:${clientId}`],
    });
    // Another has closed it in the meantime: what that one wrote stands.
    if (rowCount === 1)
      await audit(client, "close-backfill", {
        backfillId,
        statementHash: hash,
        complete: statement.complete,
      });
  });
  return requireBackfill(pool, backfillId, clientId);
}

/** Writes the statement of a closed backfill anew, from what there is now, and answers whether it is the text that was signed. */
export async function isReproduced(pool: pg.Pool, backfill: Backfill): Promise<boolean> {
  const { endedAt, statement } = backfill;
  if (endedAt === null || statement === null) return false;
  const { gapsAccepted } = JSON.parse(statement) as { gapsAccepted: boolean };
  const { text } = await onBackfill(pool, backfill, (scene) =>
    writeStatement(backfill, scene, endedAt, gapsAccepted),
  );
  return text === statement;
}
