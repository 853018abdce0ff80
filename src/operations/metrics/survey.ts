import { Counter, Gauge, Registry } from "prom-client";
import { letterOf, RESOURCES, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { countUnownedBuckets } from "../../platform/db/coordination.ts";
import { type Asked, query } from "../../platform/db/dialect.ts";
import { freeDiskBytes } from "../../platform/db/open-database.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { MetricValues } from "../../platform/telemetry/metrics.ts";
import { settingNamed } from "../../settings/setting-values.ts";

/**
 * What the installation is like as a whole. Every node tells the same of what the database knows, so they are not to be added
 * up over nodes; and what could not be seen is not told, so that nothing is taken for zero.
 */
interface SurveyMetrics {
  readonly registry: Registry;
  readonly feeds: Gauge<"resource">;
  readonly feedsSilent: Gauge<"resource">;
  readonly silenceLongest: Gauge<"resource">;
  readonly held: Gauge;
  readonly oldestUnapplied: Gauge;
  readonly bucketsBehind: Gauge;
  readonly bucketsUnowned: Gauge;
  readonly logWriters: Gauge<"state">;
  readonly oldestTransaction: Gauge;
  readonly databaseBytes: Gauge;
  readonly logBytes: Gauge;
  readonly logPartitions: Gauge;
  readonly retentionKept: Gauge<"kind">;
  readonly checkpointBytes: Gauge;
  readonly walBytes: Gauge;
  readonly diskFreeBytes: Gauge;
  readonly failures: Counter;
}

/** Makes them, without any value. */
export function createSurveyMetrics(): SurveyMetrics {
  const registry = new Registry();
  const registers = [registry];
  const gauge = <T extends string>(name: string, help: string, labelNames: T[] = []) => {
    const made = new Gauge({ name: `bellhop_${name}`, help, labelNames, registers });
    // A gauge without labels starts at 0, which /metrics would report until the first reading.
    if (labelNames.length === 0) made.remove();
    return made;
  };
  return {
    registry,
    feeds: gauge("feeds", "Feeds (property and resource) of which batches are expected and came.", [
      "resource",
    ]),
    feedsSilent: gauge("feeds_silent", "Feeds whose last batch is longer ago than expected.", ["resource"]),
    silenceLongest: gauge(
      "feed_silence_longest_seconds",
      "How much longer ago than expected the last batch of the most silent feed is.",
      ["resource"],
    ),
    held: gauge("quarantine_held_records", "Records in quarantine, 100,000 at most."),
    oldestUnapplied: gauge(
      "oldest_unapplied_seconds",
      "Age of the oldest batch that is accepted and not applied; 0 when there is none.",
    ),
    bucketsBehind: gauge("buckets_behind", "Buckets with something that is accepted and not applied."),
    bucketsUnowned: gauge("buckets_unowned", "Buckets that no node applies."),
    logWriters: gauge(
      "log_writers",
      "Log writers that are open, and those that are closed and not applied to their end.",
      ["state"],
    ),
    oldestTransaction: gauge("oldest_transaction_seconds", "Age of the database's oldest transaction."),
    databaseBytes: gauge("database_bytes", "Bytes of the database on disk."),
    logBytes: gauge("log_bytes", "Bytes of the log of accepted batches on disk, with its indexes."),
    logPartitions: gauge("log_partitions", "Partitions of the log of accepted batches."),
    retentionKept: gauge(
      "retention_kept_seconds",
      "How far back everything is known of a kind that something was taken out of.",
      ["kind"],
    ),
    checkpointBytes: gauge(
      "wal_since_checkpoint_bytes",
      "Bytes of the write-ahead log since the last checkpoint, which a recovery would read.",
    ),
    walBytes: gauge("wal_files_bytes", "Bytes of the files of the write-ahead log."),
    diskFreeBytes: gauge("disk_free_bytes", "Free bytes under the embedded database."),
    failures: new Counter({
      name: "bellhop_survey_failures_total",
      help: "Looks at the installation that failed.",
      registers,
    }),
  };
}

/** Log writers that are not retired, one row each: open ones, and sealed ones that are not applied to their end. */
const LOG_WRITERS = namedStatement(
  "survey-log-writers",
  `select log_writer_id::text as log_writer_id, sealed_at is not null as is_sealed from bellhop.log_writer where retired_at is null`,
);
const BACKLOG = readStatement(new URL("./sql/survey-backlog.sql", import.meta.url));
/** Quarantined records, $1 at most: an index scan. (Citus gathers no rows without a column.) */
const QUARANTINE = namedStatement(
  "survey-quarantine",
  `select count(*)::integer as held from (select 1 from bellhop.quarantine where state = 'h' limit $1) as record`,
);
/** The age of this database's longest transaction: nothing that was replaced since can be vacuumed. */
const TRANSACTIONS = namedStatement(
  "survey-transactions",
  `select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 as oldest_seconds
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`,
);
/** Bytes of the database and of its log with indexes and partitions. */
const SIZES = namedStatement(
  "survey-sizes",
  `select pg_database_size(current_database())::float8 as database_bytes,
    count(partition.inhrelid)::integer as log_partitions,
    coalesce(sum(pg_total_relation_size(partition.inhrelid)), 0)::float8 as log_bytes
  from pg_inherits as partition
  where partition.inhparent = 'bellhop.accept_log'::regclass`,
);
/** How far back everything is known of each kind that retention has expired something of. */
const RETENTION = namedStatement(
  "survey-retention",
  `select kind, extract(epoch from clock_timestamp() - min(known_from))::float8 as kept_seconds
  from bellhop.retention_horizon group by kind`,
);
/** Bytes of the write-ahead log that a recovery from now would read. Some hosts revoke the function. */
const CHECKPOINT = namedStatement(
  "survey-checkpoint",
  `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()`,
);
/** Bytes of the files of the write-ahead log. For members of pg_monitor. */
const WAL_FILES = namedStatement(
  "survey-wal-files",
  `select coalesce(sum(size), 0)::float8 as bytes from pg_ls_waldir()`,
);
const FEEDS = readStatement(new URL("./sql/survey-feeds.sql", import.meta.url));

/** More than that is a fault of a feed, and counting on would cost the database more each time. */
const HELD_MAX = 100_000;

/** The database and disk to read, and the gauges to set. */
interface Surveyed {
  readonly on: Queryable;
  readonly metrics: SurveyMetrics;
  /** Of the embedded database; elsewhere the disk is not ours to see. */
  readonly dataDirectory: string | undefined;
}

/** One look: what it asks, and which gauges it sets. Throws what the database answers. */
type Look = (surveyed: Surveyed) => Promise<void>;

const firstOf = async <Row extends object>(
  on: Queryable,
  ask: Asked,
  values: readonly unknown[] = [],
): Promise<Row> => {
  const [row] = (await query<Row>(on, ask, values)).rows;
  if (row === undefined) throw new Error(`${ask.name} has no answer.`);
  return row;
};

async function lookAtBacklog({ on, metrics }: Surveyed): Promise<void> {
  const { rows: logWriters } = await on.query<{ log_writer_id: string; is_sealed: boolean }>(LOG_WRITERS);
  const sealed = logWriters.filter(({ is_sealed }) => is_sealed).length;
  metrics.logWriters.set({ state: "open" }, logWriters.length - sealed);
  metrics.logWriters.set({ state: "sealed" }, sealed);
  const values = [logWriters.map(({ log_writer_id }) => log_writer_id)];
  const backlog = await firstOf<{ buckets: number; oldest_seconds: number }>(on, BACKLOG, values);
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
  metrics.held.set((await firstOf<{ held: number }>(on, QUARANTINE, [HELD_MAX])).held);
}

async function lookAtFeeds({ on, metrics }: Surveyed): Promise<void> {
  const settings = RESOURCES.map((resource) => settingNamed(`cadence.${resource}`));
  const { rows } = await query<{
    resource: ResourceLetter;
    feeds: number;
    silent: number;
    longest_seconds: number;
  }>(on, FEEDS, [
    RESOURCES.map(letterOf),
    settings.map(({ name }) => name),
    settings.map(({ fallback }) => fallback),
  ]);
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
    SIZES,
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
const OFTEN: readonly Look[] = [lookAtBacklog, lookAtBuckets, lookAtTransactions, lookAtDisk];

/** What grows over hours, and costs more the more there is. */
const SELDOM: readonly Look[] = [
  lookAtQuarantine,
  lookAtFeeds,
  lookAtSizes,
  lookAtRetention,
  lookAtCheckpoint,
  lookAtWalFiles,
];

/**
 * How often it is looked, in milliseconds; the first time soon after the start. A look that takes long comes again later: after
 * so many times as long as it took, which is a twentieth of one connection at most.
 */
const PACE = { first: 500, often: 10_000, seldom: 60_000, restPerWork: 20 };

export interface SurveyOptions extends Omit<Surveyed, "metrics"> {
  /** A look failed; the others go on, and it is tried again. */
  failed(error: unknown): void;
  readonly pace?: typeof PACE;
}

export interface Survey {
  metrics(): Promise<MetricValues>;
  /** What a look under way answers is of no interest any more. */
  stop(): void;
}

/** Reads the state of the whole installation periodically into gauges. One query at a time, so it needs one connection. */
export function startSurvey({ failed, pace = PACE, ...surveyed }: SurveyOptions): Survey {
  const metrics = createSurveyMetrics();
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();
  const timers = new Set<NodeJS.Timeout>();
  const look = async (one: Look): Promise<void> => {
    if (stopped) return;
    try {
      await one({ ...surveyed, metrics });
    } catch (error) {
      if (stopped) return;
      metrics.failures.inc();
      failed(error);
    }
  };
  const repeat = (looks: readonly Look[], everyMs: number, firstMs: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      turn = turn.then(async () => {
        const beganAt = performance.now();
        for (const one of looks) await look(one);
        const tookMs = performance.now() - beganAt;
        if (!stopped) repeat(looks, everyMs, Math.max(everyMs, tookMs * pace.restPerWork));
      });
    }, firstMs).unref();
    timers.add(timer);
  };
  repeat(OFTEN, pace.often, pace.first);
  repeat(SELDOM, pace.seldom, pace.first);
  return {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
