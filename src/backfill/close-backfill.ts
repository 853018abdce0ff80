import { createHash } from "node:crypto";
import type pg from "pg";
import { daysBetween } from "#contract/dates.ts";
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
import { type Backfill, type DateRange, daysIn, requireBackfill } from "./backfill.ts";
import { missingDates, readFailedRecords } from "./gaps.ts";
import {
  type BackfillQueryContext,
  inSnapshot,
  lateOf,
  queryContextOf,
  type ResourceProgress,
  resourcesOf,
} from "./progress.ts";
import type { CountRead } from "./tally.ts";

/** The form of the text; another form gets another name, and both stay readable. */
const FORM = "bellhop.backfill/1";
/** Failed records of a resource that are checked for a later version; any beyond count as open. */
const FAILED_LOOKED_AT_MAX = 10_000;

interface ResourceStatement extends Omit<ResourceProgress, "waitingBatches" | "oldestWaitingAt"> {
  readonly missingDates: readonly DateRange[];
  /** Rejected, quarantined and discarded records without a later applied record of the same key. */
  readonly openRecords: number;
}

/** Consecutive dates as ranges. */
export function rangesOf(dates: readonly string[]): DateRange[] {
  const ranges: { from: string; to: string }[] = [];
  for (const date of dates) {
    const last = ranges.at(-1);
    if (last !== undefined && daysBetween(last.to, date) === 1) last.to = date;
    else ranges.push({ from: date, to: date });
  }
  return ranges;
}

function isComplete({ missingRecords, missingDates: dates, openRecords }: ResourceStatement): boolean {
  return (missingRecords ?? 0) === 0 && dates.length === 0 && openRecords === 0;
}

async function countOpenRecords({ client, asked }: BackfillQueryContext, of: ResourceProgress) {
  const { rejected, quarantined, discarded } = of.counts;
  const failed = rejected + quarantined + discarded;
  if (failed === 0) return 0;
  // At once, as reading some of a request's rejections parses all of them.
  const resource = of.resource;
  const some = await readFailedRecords(client, { ...asked, resource }, null, FAILED_LOOKED_AT_MAX);
  return failed - some.filter((record) => record.mended).length;
}

/** A statement's text, which is signed, its SHA-256 in hexadecimal, and what it says of the resources. */
interface WrittenStatement {
  readonly text: string;
  readonly hash: string;
  /** Nothing that was announced is missing. */
  readonly complete: boolean;
  readonly resources: readonly ResourceStatement[];
}

/**
 * Writes the statement of a backfill as of a settled request, from the log, the outcomes and the versions of that snapshot: the
 * same text at any later time. `closedAt` is when it was first written.
 */
async function writeStatement(
  backfill: Backfill,
  queryContext: BackfillQueryContext,
  closedAt: string,
  acceptGaps: boolean,
): Promise<WrittenStatement> {
  const { client, asked } = queryContext;
  const resources: ResourceStatement[] = [];
  for (const of of await resourcesOf(queryContext)) {
    const { waitingBatches: _w, oldestWaitingAt: _o, ...own } = of;
    const dates = rangesOf(await missingDates(client, asked, of));
    resources.push({ ...own, missingDates: dates, openRecords: await countOpenRecords(queryContext, of) });
  }
  return stateResources(backfill, resources, { closedAt, countedTo: asked.upTo, acceptGaps });
}

function stateResources(
  { backfillId, clientId, openedAt, manifest }: Backfill,
  resources: readonly ResourceStatement[],
  { closedAt, countedTo, acceptGaps }: { closedAt: string; countedTo: string; acceptGaps: boolean },
): WrittenStatement {
  const { clientCode, propertyCode, note } = manifest;
  const complete = resources.every(isComplete);
  const text = JSON.stringify({
    form: FORM,
    backfillId,
    clientId,
    clientCode,
    propertyCode,
    note,
    openedAt,
    closedAt,
    countedTo,
    complete,
    gapsAccepted: acceptGaps && !complete,
    resources,
  });
  return { text, hash: createHash("sha256").update(text).digest("hex"), complete, resources };
}

/** What is missing, in a sentence for each resource that lacks something. */
function gapsInWords(resources: readonly ResourceStatement[]): string {
  return resources
    .filter((of) => !isComplete(of))
    .map(({ resource, missingRecords, missingDates: dates, openRecords }) => {
      const days = dates.reduce((sum, range) => sum + daysIn(range), 0);
      const parts = [
        ...((missingRecords ?? 0) > 0
          ? [`${countText(missingRecords ?? 0, "record")} fewer than expected`]
          : []),
        ...(days > 0 ? [`${countText(days, "date")} without a record`] : []),
        ...(openRecords > 0
          ? [`${countText(openRecords, "record")} rejected, quarantined or discarded`]
          : []),
      ];
      return `${resource}: ${parts.join(", ")}`;
    })
    .join("; ");
}

/** Closes the backfill $1, unless that has been done, with its statement, and the partner's ($6) signature below it. */
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

/** A watermark lies two to three seconds behind the clock. */
const RETRY_AFTER_SECONDS = 3;
/** Where no watermark is settled yet: no flush takes so long, so nothing older than this can still appear. */
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

/** Up to this id everything of the property is applied, and nothing more can appear. */
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

async function prepare(pool: pg.Pool, backfill: Backfill, acceptGaps: boolean, countRead?: CountRead) {
  // Before the snapshot, as a watermark has to be.
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
    return { ...(await writeStatement(backfill, queryContext, closedAt, acceptGaps)), closedAt, countedTo };
  });
}

/**
 * Closes a client's backfill: writes its statement, signed by the client. Closing a closed one answers it as it is. Throws
 * ServiceError (409): `NotOpen` (it was abandoned), `NotReady` (something is not applied yet), `HasGaps` (without `acceptGaps`).
 */
export async function closeBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  acceptGaps: boolean,
  countRead?: CountRead,
): Promise<Backfill> {
  const { backfillId, clientId, state } = backfill;
  const who = `client:${clientId}`;
  if (state !== "open") return closed(backfill);
  // Its log is not all here yet.
  if ((await readUnfinished(pool)) !== undefined)
    throw new ServiceError("bellhop.backfill.NotReady", {
      message:
        "The database is being moved, and nothing is applied until that ends. Close the backfill again later.",
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  const { complete, resources, text, hash, closedAt, countedTo } = await prepare(
    pool,
    backfill,
    acceptGaps,
    countRead,
  );
  if (!complete && !acceptGaps)
    throw new ServiceError("bellhop.backfill.HasGaps", {
      message: `Something is missing: ${gapsInWords(resources)}. Send it, or close with acceptGaps.`,
    });
  return apartFromReader(async () => {
    await withTransaction(pool, async (client) => {
      const values = [backfillId, closedAt, countedTo, text, hash, who];
      const { rowCount } = await client.query({ ...closeStatement, values });
      const detail = { statementHash: hash, complete };
      // Where another request has ended it in the meantime, that stands.
      if (rowCount === 1) await audit(client, who, backfill, "close-backfill", detail);
    });
    return closed(await requireBackfill(pool, backfillId, clientId));
  });
}

/** A backfill that has ended, if it was closed. */
function closed(backfill: Backfill): Backfill {
  if (backfill.state === "closed") return backfill;
  throw new ServiceError("bellhop.backfill.NotOpen", { message: "This backfill was abandoned." });
}

/**
 * What retention may have removed of the client code $1 and the resources $2 that a backfill opened at $3 counts. The log goes by
 * receipt; versions go by the time that their source states, which may be any.
 */
const findRemoved = namedStatement(
  "find-removed-of-backfill",
  `select resource, array_agg(kind) as kinds from bellhop.retention_horizon
  where client_code = $1 and resource = any ($2::"char"[]) and (kind = 'versions' or known_from > $3::timestamptz)
  group by resource`,
);

/**
 * The figures of a resource with those as they were signed that differ as they do when retention has removed such data: with records
 * or versions, fewer keys and dates are found, and fewer failed records with a later version; with outcomes, requests go.
 */
function asSigned(of: ResourceStatement, signed: ResourceStatement, removed: readonly string[]) {
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

/**
 * Whether the log gives the statement that was signed; null without a statement, and where it does not but what retention may have
 * removed accounts for that.
 */
export async function isReproduced(pool: pg.Pool, backfill: Backfill): Promise<boolean | null> {
  const { endedAt, statement, countedTo, openedAt, manifest } = backfill;
  if (endedAt === null || statement === null || countedTo === null) return null;
  const signed = JSON.parse(statement) as { gapsAccepted: boolean; resources: ResourceStatement[] };
  const acceptGaps = signed.gapsAccepted;
  const { text, resources } = await inSnapshot(pool, async (client) =>
    writeStatement(backfill, await queryContextOf(client, backfill, countedTo), endedAt, acceptGaps),
  );
  if (text === statement) return true;
  const letters = manifest.resources.map(({ resource }) => letterOf(resource));
  const values = [manifest.clientCode, letters, openedAt];
  const { rows } = await pool.query<{ resource: string; kinds: string[] }>({ ...findRemoved, values });
  const before = resources.map((of, at) => {
    const { kinds = [] } = rows.find(({ resource }) => resource === letterOf(of.resource)) ?? {};
    return asSigned(of, signed.resources[at] ?? of, kinds);
  });
  const closing = { closedAt: endedAt, countedTo, acceptGaps };
  return stateResources(backfill, before, closing).text === statement ? null : false;
}

/** The operator's ($2) signature below the statement of the backfill $1, if that has the hash $3 and none yet. */
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

/** Why a statement is neither confirmed nor denied. */
export const NOT_RECOMPUTED =
  "cannot be recomputed any more: data that it counts may be past its retention term";

/** The backfill cannot be signed or abandoned; the message says why. */
export class BackfillRefusal extends ConflictError {}

/** Signs the statement with this hash for the operator, if the log still gives it. Signing it again changes nothing. Throws BackfillRefusal. */
export async function countersignBackfill(
  pool: pg.Pool,
  backfill: Backfill,
  hash: string,
  who: string,
): Promise<Backfill> {
  const { backfillId, state, statementHash } = backfill;
  if (state !== "closed" || statementHash === null)
    throw new BackfillRefusal(`This backfill is ${state}: only what its partner has closed can be signed.`);
  if (statementHash !== hash.toLowerCase())
    throw new BackfillRefusal(`The statement has another hash: ${statementHash}.`);
  const reproduced = await isReproduced(pool, backfill);
  if (reproduced === null) throw new BackfillRefusal(`The statement ${NOT_RECOMPUTED}.`);
  if (!reproduced)
    throw new BackfillRefusal(
      "What is in the log gives another statement than the one that was closed with.",
    );
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...countersign, values: [backfillId, who, statementHash] });
    if (rowCount === 1) await audit(client, who, backfill, "sign-backfill", { statementHash });
  });
  return requireBackfill(pool, backfillId, null);
}

/** Ends an open backfill without a statement; its records stay. Answers an abandoned one as it is; throws BackfillRefusal for a closed one. */
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
