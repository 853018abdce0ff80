import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { findProperty } from "../query/property.ts";
import type { Backfill } from "./backfill.ts";
import { coverageOf, type GapsAsked } from "./gaps.ts";
import { type ResourceTally, type Tally, tallyOf, UP_TO_NOW } from "./tally.ts";

/** Batches of the backfill $2 in the bucket $1 after the request $3, and those up to it that are not applied. */
const readLate = namedStatement(
  "read-late",
  `select
    count(*) filter (where batch.request_id > $3::uuid)::integer as late,
    count(*) filter (where batch.request_id <= $3::uuid and outcome.request_id is null)::integer as waiting
  from bellhop.accept_log as batch
  left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = batch.request_id
  where batch.bucket = $1::smallint and batch.backfill_id = $2::uuid`,
);

/** What has come of one resource, and of how many of the dates that were named. */
export interface ResourceProgress extends ResourceTally {
  /** Of inventories: the dates of the range, and how many of them the property has a record of. */
  readonly datesNamed: number | null;
  readonly datesCovered: number | null;
}

/** How far a backfill has come: of one that is closed, what its statement counts. */
export interface Progress {
  readonly backfill: Backfill;
  readonly resources: readonly ResourceProgress[];
  readonly waitingBatches: number;
  readonly oldestWaitingAt: string | null;
  /** Batches that came after the statement was made: applied like all others, and no part of it. */
  readonly lateBatches: number;
  readonly recordsRead: number;
}

/** What a question about a backfill is answered by: one snapshot. */
export interface BackfillQueryContext {
  readonly client: Queryable;
  readonly asked: GapsAsked;
  readonly tally: Tally;
}

/** Answers a question about a backfill from one snapshot: of one that is closed, as of what its statement counts. */
export function onBackfill<Answer>(
  pool: pg.Pool,
  backfill: Backfill,
  ask: (queryContext: BackfillQueryContext) => Promise<Answer>,
): Promise<Answer> {
  return withTransaction(
    pool,
    async (client) => ask(await queryContextOf(client, backfill, backfill.countedTo)),
    {
      isolation: "repeatable read",
      readOnly: true,
    },
  );
}

/** What a question is answered by in the caller's snapshot; `asOf` is null for now, else a settled request. */
export async function queryContextOf(
  client: Queryable,
  backfill: Backfill,
  asOf: string | null,
): Promise<BackfillQueryContext> {
  const { clientCode, propertyCode } = backfill.manifest;
  const property = await findProperty(client, clientCode, propertyCode);
  const asked = { backfill, propertyId: property?.propertyId ?? null, asOf, upTo: asOf ?? UP_TO_NOW };
  return { client, asked, tally: await tallyOf(client, backfill, asked.propertyId, asked.upTo) };
}

/** What has come by resource, with the dates that are covered. */
export async function resourcesOf({
  client,
  asked,
  tally,
}: BackfillQueryContext): Promise<ResourceProgress[]> {
  const resources: ResourceProgress[] = [];
  for (const of of tally.resources) resources.push({ ...of, ...(await coverageOf(client, asked, of)) });
  return resources;
}

/** How many batches of a backfill came after a request, and how many of those before it are not applied. */
export async function lateOf(
  client: Queryable,
  { backfillId, bucket }: Backfill,
  upTo: string,
): Promise<{ readonly late: number; readonly waiting: number }> {
  const { rows } = await client.query<{ late: number; waiting: number }>({
    ...readLate,
    values: [bucket, backfillId, upTo],
  });
  return rows[0] ?? { late: 0, waiting: 0 };
}

/** How far a backfill has come, worked out now from what there is. */
export function progressOf(pool: pg.Pool, backfill: Backfill): Promise<Progress> {
  return onBackfill(pool, backfill, async (queryContext) => {
    const resources = await resourcesOf(queryContext);
    const waiting = resources.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []).sort();
    return {
      backfill,
      resources,
      waitingBatches: resources.reduce((sum, { waitingBatches }) => sum + waitingBatches, 0),
      oldestWaitingAt: waiting[0] ?? null,
      lateBatches: (await lateOf(queryContext.client, backfill, queryContext.asked.upTo)).late,
      recordsRead: queryContext.tally.recordsRead,
    };
  });
}

/** A backfill in a list. */
export function backfillItem({ backfillId, manifest, state, openedAt, endedAt, statementHash }: Backfill) {
  const { clientCode, propertyCode, note } = manifest;
  return { backfillId, state, clientCode, propertyCode, note, openedAt, endedAt, statementHash };
}

/** A backfill with how far it has come, as partners and operators are told of it. */
export function backfillAnswer({
  backfill,
  resources,
  waitingBatches,
  oldestWaitingAt,
  lateBatches,
}: Progress) {
  return {
    ...backfillItem(backfill),
    resources: resources.map(({ lastRequestId: _, requestsHash: __, ...told }) => told),
    waitingBatches,
    oldestWaitingAt,
    lateBatches,
    signatures: backfill.signatures,
  };
}
