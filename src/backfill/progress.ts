import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { type Queryable, withTransaction } from "../db/transaction.ts";
import { findProperty } from "../read/property.ts";
import type { Backfill } from "./backfill.ts";
import { coverageOf, type GapsAsked } from "./gaps.ts";
import { type ResourceTally, type Tally, tallyOf, UP_TO_NOW } from "./tally.ts";

const readLate = readStatement(new URL("./sql/read-late.sql", import.meta.url));

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
export interface BackfillScene {
  readonly client: Queryable;
  readonly asked: GapsAsked;
  readonly tally: Tally;
}

/** Answers a question about a backfill from one snapshot: of one that is closed, as of what its statement counts. */
export function onBackfill<Answer>(
  pool: pg.Pool,
  backfill: Backfill,
  ask: (scene: BackfillScene) => Promise<Answer>,
): Promise<Answer> {
  return withTransaction(pool, async (client) => ask(await sceneOf(client, backfill, backfill.countedTo)), {
    isolation: "repeatable read",
    readOnly: true,
  });
}

/** What a question is answered by in the caller's snapshot; `asOf` is null for now, else a settled request. */
export async function sceneOf(
  client: Queryable,
  backfill: Backfill,
  asOf: string | null,
): Promise<BackfillScene> {
  const { clientCode, propertyCode } = backfill.manifest;
  const property = await findProperty(client, clientCode, propertyCode);
  const asked = { backfill, propertyId: property?.propertyId ?? null, asOf, upTo: asOf ?? UP_TO_NOW };
  return { client, asked, tally: await tallyOf(client, backfill, asked.propertyId, asked.upTo) };
}

/** What has come by resource, with the dates that are covered. */
export async function resourcesOf({ client, asked, tally }: BackfillScene): Promise<ResourceProgress[]> {
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
  return onBackfill(pool, backfill, async (scene) => {
    const resources = await resourcesOf(scene);
    const waiting = resources.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []).sort();
    return {
      backfill,
      resources,
      waitingBatches: resources.reduce((sum, { waitingBatches }) => sum + waitingBatches, 0),
      oldestWaitingAt: waiting[0] ?? null,
      lateBatches: (await lateOf(scene.client, backfill, scene.asked.upTo)).late,
      recordsRead: scene.tally.recordsRead,
    };
  });
}
