import { letterOf, RESOURCES, type ResourceLetter, resourceOf } from "../contract/resource.ts";
import { isDistributed } from "../db/distribution.ts";
import { freeDiskBytes } from "../db/open-database.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import { countUnownedBuckets } from "../db/unowned-buckets.ts";
import { settingNamed } from "../settings/setting-values.ts";
import type { SurveyMetrics } from "./survey-metrics.ts";

const statement = (name: string) => readStatement(new URL(`./sql/survey-${name}.sql`, import.meta.url));
const LANES = statement("lanes");
const BACKLOG = statement("backlog");
const QUARANTINE = statement("quarantine");
const TRANSACTIONS = statement("transactions");
const SIZES = statement("sizes");
const RETENTION = statement("retention");
const CHECKPOINT = statement("checkpoint");
const WAL_FILES = statement("wal-files");
const FEEDS = statement("feeds");
const FEEDS_DISTRIBUTED = statement("feeds-distributed");
const SIZES_DISTRIBUTED = statement("sizes-distributed");

/** More than that is a fault of a feed, and counting on would cost the database more each time. */
const HELD_MAX = 100_000;

/** What is looked at, and where it is told. */
export interface Surveyed {
  readonly on: Queryable;
  readonly metrics: SurveyMetrics;
  /** Of the embedded database; elsewhere the disk is not ours to see. */
  readonly dataDirectory: string | undefined;
}

/** One look: what it asks, and which gauges it sets. Throws what the database answers. */
export type Look = (surveyed: Surveyed) => Promise<void>;

const firstOf = async <Row extends object>(
  on: Queryable,
  ask: { readonly name: string; readonly text: string; readonly values?: unknown[] },
): Promise<Row> => {
  const [row] = (await on.query<Row>(ask)).rows;
  if (row === undefined) throw new Error(`${ask.name} has no answer.`);
  return row;
};

async function lookAtBacklog({ on, metrics }: Surveyed): Promise<void> {
  const { rows: lanes } = await on.query<{ lane_id: string; is_sealed: boolean }>(LANES);
  const sealed = lanes.filter(({ is_sealed }) => is_sealed).length;
  metrics.lanes.set({ state: "open" }, lanes.length - sealed);
  metrics.lanes.set({ state: "sealed" }, sealed);
  const values = [lanes.map(({ lane_id }) => lane_id)];
  const backlog = await firstOf<{ buckets: number; oldest_seconds: number }>(on, { ...BACKLOG, values });
  metrics.bucketsBehind.set(backlog.buckets);
  metrics.oldestUnapplied.set(Math.max(0, backlog.oldest_seconds));
}

async function lookAtBuckets({ on, metrics }: Surveyed): Promise<void> {
  metrics.bucketsUnowned.set(await countUnownedBuckets(on));
}

async function lookAtTransactions({ on, metrics }: Surveyed): Promise<void> {
  metrics.oldestTransaction.set((await firstOf<{ oldest_seconds: number }>(on, TRANSACTIONS)).oldest_seconds);
}

async function lookAtDisk({ metrics, dataDirectory }: Surveyed): Promise<void> {
  if (dataDirectory !== undefined) metrics.diskFreeBytes.set(await freeDiskBytes(dataDirectory));
}

async function lookAtQuarantine({ on, metrics }: Surveyed): Promise<void> {
  metrics.held.set((await firstOf<{ held: number }>(on, { ...QUARANTINE, values: [HELD_MAX] })).held);
}

async function lookAtFeeds({ on, metrics }: Surveyed): Promise<void> {
  const settings = RESOURCES.map((resource) => settingNamed(`cadence.${resource}`));
  const { rows } = await on.query<{
    resource: ResourceLetter;
    feeds: number;
    silent: number;
    longest_seconds: number;
  }>({
    ...((await isDistributed(on)) ? FEEDS_DISTRIBUTED : FEEDS),
    values: [
      RESOURCES.map(letterOf),
      settings.map(({ name }) => name),
      settings.map(({ fallback }) => fallback),
    ],
  });
  for (const resource of RESOURCES) {
    const found = rows.find((row) => resourceOf(row.resource) === resource);
    metrics.feeds.set({ resource }, found?.feeds ?? 0);
    metrics.feedsSilent.set({ resource }, found?.silent ?? 0);
    metrics.silenceLongest.set({ resource }, found?.longest_seconds ?? 0);
  }
}

async function lookAtSizes({ on, metrics }: Surveyed): Promise<void> {
  const sizes = await firstOf<{ database_bytes: number; log_partitions: number; log_bytes: number }>(
    on,
    (await isDistributed(on)) ? SIZES_DISTRIBUTED : SIZES,
  );
  metrics.databaseBytes.set(sizes.database_bytes);
  metrics.logBytes.set(sizes.log_bytes);
  metrics.logPartitions.set(sizes.log_partitions);
}

async function lookAtRetention({ on, metrics }: Surveyed): Promise<void> {
  const { rows } = await on.query<{ kind: string; kept_seconds: number }>(RETENTION);
  for (const { kind, kept_seconds } of rows) metrics.retentionKept.set({ kind }, kept_seconds);
}

async function lookAtCheckpoint({ on, metrics }: Surveyed): Promise<void> {
  metrics.checkpointBytes.set((await firstOf<{ bytes: number }>(on, CHECKPOINT)).bytes);
}

async function lookAtWalFiles({ on, metrics }: Surveyed): Promise<void> {
  metrics.walBytes.set((await firstOf<{ bytes: number }>(on, WAL_FILES)).bytes);
}

/** What may change within seconds, and costs some milliseconds to see. */
export const OFTEN: readonly Look[] = [lookAtBacklog, lookAtBuckets, lookAtTransactions, lookAtDisk];

/** What grows over hours, and costs more the more there is. */
export const SELDOM: readonly Look[] = [
  lookAtQuarantine,
  lookAtFeeds,
  lookAtSizes,
  lookAtRetention,
  lookAtCheckpoint,
  lookAtWalFiles,
];
