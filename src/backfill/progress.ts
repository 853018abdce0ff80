import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { findProperty } from "../query/property.ts";
import type { Backfill } from "./backfill.ts";
import type { BackfillResource } from "./console-answers.ts";
import { coverageOf, type GapsAsked } from "./gaps.ts";
import { type CountRead, type ResourceTally, statedTally, tallyOf, UP_TO_NOW } from "./tally.ts";

/** Batches of backfill $2 in bucket $1 after request $3, and those up to it that are unapplied. */
const READ_LATE = namedStatement(
  "read-late",
  `select
    count(*) filter (where batch.request_id > $3::uuid)::integer as late,
    count(*) filter (where batch.request_id <= $3::uuid and outcome.request_id is null)::integer as waiting
  from bellhop.accept_log as batch
  left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = batch.request_id
  where batch.bucket = $1::smallint and batch.backfill_id = $2::uuid`,
);

/** Received data of one resource; for inventories also the number of announced dates with a record. */
export interface ResourceProgress extends ResourceTally, BackfillResource {
  readonly counts: ResourceTally["counts"];
}

/** A snapshot that answers queries about a backfill. */
export interface BackfillQueryContext {
  readonly client: Queryable;
  readonly asked: GapsAsked;
  readonly tally: readonly ResourceTally[];
}

/** Runs a read-only query in one snapshot. */
export function inSnapshot<Answer>(
  pool: pg.Pool,
  ask: (client: Queryable) => Promise<Answer>,
): Promise<Answer> {
  return withTransaction(pool, ask, { isolation: "repeatable read", readOnly: true });
}

/** Answers a query about a backfill; for a closed one as of its statement. */
export function onBackfill<Answer>(
  pool: pg.Pool,
  backfill: Backfill,
  ask: (queryContext: BackfillQueryContext) => Promise<Answer>,
  countRead?: CountRead,
): Promise<Answer> {
  const { statement, countedTo } = backfill;
  const stated = statement === null ? undefined : statedTally(statement);
  return inSnapshot(pool, async (client) =>
    ask(await queryContextOf(client, backfill, countedTo ?? UP_TO_NOW, countRead, stated)),
  );
}

/** The context of a query in the caller's snapshot; `upTo` is a settled request, or UP_TO_NOW. */
export async function queryContextOf(
  client: Queryable,
  backfill: Backfill,
  upTo: string,
  countRead: CountRead = () => undefined,
  stated?: readonly ResourceTally[],
): Promise<BackfillQueryContext> {
  const { clientCode, propertyCode } = backfill.manifest;
  const property = await findProperty(client, clientCode, propertyCode);
  const asked = { backfill, propertyId: property?.propertyId ?? null, upTo, countRead };
  const tally = stated ?? (await tallyOf(client, backfill, asked.propertyId, upTo, countRead));
  return { client, asked, tally };
}

/** Received data by resource, with date coverage. */
export async function resourcesOf(queryContext: BackfillQueryContext): Promise<ResourceProgress[]> {
  const { client, asked, tally } = queryContext;
  const resources: ResourceProgress[] = [];
  for (const counted of tally) resources.push({ ...counted, ...(await coverageOf(client, asked, counted)) });
  return resources;
}

/** Number of a backfill's batches after a request, and of unapplied ones up to it. */
export async function lateOf(client: Queryable, { backfillId, bucket }: Backfill, upTo: string) {
  const values = [bucket, backfillId, upTo];
  const { rows } = await client.query<{ late: number; waiting: number }>({ ...READ_LATE, values });
  return rows[0] ?? { late: 0, waiting: 0 };
}

export type Progress = Awaited<ReturnType<typeof progressOf>>;

/** The progress of a backfill; for a closed one its statement's counts, and the batches received later. */
export function progressOf(pool: pg.Pool, backfill: Backfill, countRead?: CountRead) {
  const progress = async (queryContext: BackfillQueryContext) => {
    const resources = await resourcesOf(queryContext);
    const waiting = resources.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []).sort();
    return {
      backfill,
      resources,
      waitingBatches: resources.reduce((sum, { waitingBatches }) => sum + waitingBatches, 0),
      oldestWaitingAt: waiting[0] ?? null,
      lateBatches: (await lateOf(queryContext.client, backfill, queryContext.asked.upTo)).late,
    };
  };
  return onBackfill(pool, backfill, progress, countRead);
}

export function backfillItem({ backfillId, manifest, state, openedAt, endedAt, statementHash }: Backfill) {
  const { clientCode, propertyCode, note } = manifest;
  return { backfillId, state, clientCode, propertyCode, note, openedAt, endedAt, statementHash };
}

/** A backfill with its progress, as shown to partners and operators. */
export function backfillAnswer({ backfill, resources, ...sums }: Progress) {
  const reported = resources.map(({ requestsHash: _hash, missingDates: _dates, ...own }) => own);
  return { ...backfillItem(backfill), resources: reported, ...sums, signatures: backfill.signatures };
}
