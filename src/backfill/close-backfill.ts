import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { settledReceipts, watermarkOf } from "../insight/watermark.ts";
import { apartFromReader } from "../platform/db/connection.ts";
import { readUnfinished } from "../platform/db/migrate.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { ConflictError } from "../platform/errors/operator-error.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { after, lowestIdFrom, readInstant } from "../platform/http/instant.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { type Backfill, requireBackfill } from "./backfill.ts";
import { inSnapshot, lateOf, queryContextOf } from "./progress.ts";
import { gapsInWords, type ResourceStatement, stateResources, writeStatement } from "./statement.ts";
import type { CountRead } from "./tally.ts";

/** Closes backfill $1, unless it is closed, with its statement and the partner's ($6) signature. */
const closeStatement = namedStatement(
  "close-backfill",
  `with closed as (
    update bellhop.backfill
    set state = 'c', ended_at = $2::timestamptz, counted_to = $3::uuid, statement = $4, statement_hash = $5
    where backfill_id = $1 and state = 'o'
    returning backfill_id
  )
  insert into bellhop.backfill_signature (backfill_id, side, signed_by, signed_at, statement_hash)
  select backfill_id, 'partner', $6, $2::timestamptz, $5 from closed`,
);
const NOW = `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`;

/** A watermark is two to three seconds behind the clock. */
const RETRY_AFTER_SECONDS = 3;
/** Used if no watermark is settled yet: no flush takes this long, so nothing older can still appear. */
const SETTLED_BEHIND_MS = 30_000;

function audit(
  on: Queryable,
  who: string,
  { backfillId, clientId }: Backfill,
  what: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  return recordAudit(on, { who, what, clientId, detail: { backfillId, ...detail } });
}

/** The id up to which everything of the property is applied and nothing more can appear. */
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

/** How to close a backfill. */
interface Closing {
  readonly acceptGaps: boolean;
  readonly countRead?: CountRead;
}

async function prepare(pool: pg.Pool, backfill: Backfill, { acceptGaps, countRead }: Closing) {
  // A watermark must be read before the snapshot.
  const settled = await settledReceipts(pool, backfill);
  return inSnapshot(pool, async (client) => {
    const { rows } = await client.query<{ now: string }>(NOW);
    const closedAt = rows[0]?.now ?? "";
    const countedTo = await settledRequest(client, backfill, settled, closedAt);
    const { late, waiting } = await lateOf(client, backfill, countedTo);
    if (late + waiting > 0)
      throw new ServiceError("bellhop.backfill.NotReady", {
        message: `${countText(late + waiting, "batch", "batches")} of this backfill: not applied yet, or received within the last seconds. Close it again later.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    const queryContext = await queryContextOf(client, backfill, countedTo, countRead);
    const statement = await writeStatement(backfill, queryContext, { closedAt, acceptGaps });
    return { ...statement, closedAt, countedTo };
  });
}

/**
 * Closes a client's backfill: writes its statement, signed by the client. A closed one is returned as it is. Throws ServiceError (409):
 * `NotOpen` (abandoned), `NotReady` (not everything is applied), `HasGaps` (without `acceptGaps`).
 */
export async function closeBackfill(pool: pg.Pool, backfill: Backfill, closing: Closing): Promise<Backfill> {
  const { backfillId, clientId, state } = backfill;
  const who = `client:${clientId}`;
  if (state !== "open") return closed(backfill);
  // A database that is being filled lacks a part of the log.
  if ((await readUnfinished(pool)) !== undefined)
    throw new ServiceError("bellhop.backfill.NotReady", {
      message: "The database is being moved, so batches are not applied. Close the backfill again later.",
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  const { complete, resources, text, hash, closedAt, countedTo } = await prepare(pool, backfill, closing);
  if (!complete && !closing.acceptGaps)
    throw new ServiceError("bellhop.backfill.HasGaps", {
      message: `Data is missing: ${gapsInWords(resources)}. Send it, or close with acceptGaps.`,
    });
  return apartFromReader(async () => {
    await withTransaction(pool, async (client) => {
      const values = [backfillId, closedAt, countedTo, text, hash, who];
      const { rowCount } = await client.query({ ...closeStatement, values });
      const detail = { statementHash: hash, complete };
      // If another request has ended it meanwhile, that one stands.
      if (rowCount === 1) await audit(client, who, backfill, "close-backfill", detail);
    });
    return closed(await requireBackfill(pool, backfillId, clientId));
  });
}

/** Returns an ended backfill if it was closed; throws otherwise. */
function closed(backfill: Backfill): Backfill {
  if (backfill.state === "closed") return backfill;
  throw new ServiceError("bellhop.backfill.NotOpen", { message: "This backfill was abandoned." });
}

/**
 * The kinds of data that retention may have deleted of client code $1 and the resources $2, and that a backfill opened at $3 counts. The
 * log is retained by receipt, versions by source time, which may be any.
 */
const findRemoved = namedStatement(
  "find-removed-of-backfill",
  `select resource, array_agg(kind) as kinds from bellhop.retention_horizon
  where client_code = $1 and resource = any ($2::"char"[]) and (kind = 'versions' or known_from > $3::timestamptz)
  group by resource`,
);

/**
 * Replaces figures by the signed ones where they differ in the way that such retention explains: with payloads or versions deleted, fewer
 * keys and dates are found, and fewer failed records with a later version; with outcomes, requests are missing.
 */
function withSignedFigures(of: ResourceStatement, signed: ResourceStatement, removed: readonly string[]) {
  const { resource, from, to, expectedRecords } = of;
  if (removed.includes("outcomes")) return { ...of, ...signed, resource, from, to, expectedRecords };
  const { distinctRecords, missingRecords, datesCovered, missingDates: dates, openRecords } = signed;
  const isLess =
    of.distinctRecords <= distinctRecords &&
    (of.datesCovered ?? 0) <= (datesCovered ?? 0) &&
    of.openRecords >= openRecords;
  if (removed.length === 0 || !isLess) return of;
  return { ...of, distinctRecords, missingRecords, datesCovered, missingDates: dates, openRecords };
}

/** Whether the log reproduces the signed statement. Null without a statement, or if retention may account for the difference. */
export async function isReproduced(pool: pg.Pool, backfill: Backfill): Promise<boolean | null> {
  const { endedAt, statement, countedTo, openedAt, manifest } = backfill;
  if (endedAt === null || statement === null || countedTo === null) return null;
  const signed = JSON.parse(statement) as { gapsAccepted: boolean; resources: ResourceStatement[] };
  const closing = { closedAt: endedAt, acceptGaps: signed.gapsAccepted };
  const { text, resources } = await inSnapshot(pool, async (client) =>
    writeStatement(backfill, await queryContextOf(client, backfill, countedTo), closing),
  );
  if (text === statement) return true;
  const letters = manifest.resources.map(({ resource }) => letterOf(resource));
  const values = [manifest.clientCode, letters, openedAt];
  const { rows } = await pool.query<{ resource: string; kinds: string[] }>({ ...findRemoved, values });
  const before = resources.map((of, at) => {
    const { kinds = [] } = rows.find(({ resource }) => resource === letterOf(of.resource)) ?? {};
    return withSignedFigures(of, signed.resources[at] ?? of, kinds);
  });
  return stateResources(backfill, before, { ...closing, countedTo }).text === statement ? null : false;
}

/** Adds the operator's ($2) signature to the statement of backfill $1, if its hash is $3 and it is not countersigned. */
const countersign = namedStatement(
  "countersign-backfill",
  `insert into bellhop.backfill_signature (backfill_id, side, signed_by, statement_hash)
  select backfill_id, 'operator', $2, statement_hash
  from bellhop.backfill
  where backfill_id = $1 and state = 'c' and statement_hash = $3
  on conflict (backfill_id, side) do nothing`,
);
const abandon = namedStatement(
  "abandon-backfill",
  `update bellhop.backfill
  set state = 'a', ended_at = clock_timestamp(), abandoned_by = $2, abandoned_why = $3
  where backfill_id = $1 and state = 'o'`,
);

/** Message if a statement can be neither confirmed nor refuted. */
export const NOT_RECOMPUTED = "cannot be recomputed: data that it counts may be past its retention term";

/** The backfill cannot be signed or abandoned; the message says why. */
export class BackfillRefusal extends ConflictError {}

/** Countersigns the statement with this hash if the log still reproduces it. Repeating it changes nothing. Throws BackfillRefusal. */
export async function countersignBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  hash: string,
  who: string,
): Promise<Backfill> {
  const { backfillId, state, statementHash } = backfill;
  if (state !== "closed" || statementHash === null)
    throw new BackfillRefusal(`This backfill is ${state}. Only a closed backfill can be signed.`);
  if (statementHash !== hash.toLowerCase())
    throw new BackfillRefusal(`The hash of the statement is ${statementHash}.`);
  const reproduced = await isReproduced(pool, backfill);
  if (reproduced === null) throw new BackfillRefusal(`The statement ${NOT_RECOMPUTED}.`);
  if (!reproduced) throw new BackfillRefusal("The log does not reproduce the closing statement.");
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...countersign, values: [backfillId, who, statementHash] });
    if (rowCount === 1) await audit(client, who, backfill, "sign-backfill", { statementHash });
  });
  return requireBackfill(pool, backfillId, null);
}

/**
 * Ends an open backfill without a statement; its records remain. Returns an abandoned one as it is; throws BackfillRefusal for a closed
 * one.
 */
export async function abandonBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  why: string | null,
  who: string,
): Promise<Backfill> {
  const { backfillId } = backfill;
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...abandon, values: [backfillId, who, why] });
    if (rowCount === 1) await audit(client, who, backfill, "abandon-backfill", { why });
  });
  const ended = await requireBackfill(pool, backfillId, null);
  if (ended.state !== "abandoned") throw new BackfillRefusal("Only an open backfill can be abandoned.");
  return ended;
}
