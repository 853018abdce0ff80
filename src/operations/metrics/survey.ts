import { Counter, Gauge, Registry } from "prom-client";
import { letterOf, RESOURCES } from "#contract/resource.ts";
import { openLagReader } from "../../insight/console/intake.ts";
import { countUnownedBuckets } from "../../platform/db/coordination.ts";
import { query } from "../../platform/db/dialect.ts";
import { freeDiskBytes } from "../../platform/db/disk-watch.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { MetricValues } from "../../platform/telemetry/metrics.ts";
import { settingNamed } from "../../settings/setting-values.ts";

interface Surveyed {
  readonly on: Queryable;
  /** Of the embedded database; the disk of another server is not visible. */
  readonly dataDirectory: string | undefined;
}

/** Values by gauge name, and the value of the label. */
type GaugeValues = Readonly<Record<string, number | string>>;

interface SurveyQuery {
  /** Help text by gauge name, which is also the column of its value. */
  readonly gauges: Readonly<Record<string, string>>;
  /** The label of its gauges, which is also a column. */
  readonly label?: string;
  /** Throws database errors. */
  read(surveyed: Surveyed): Promise<readonly GaugeValues[]>;
}

function queryOf(name: string, text: string, ...values: readonly unknown[]): SurveyQuery["read"] {
  return async ({ on }) => (await query<GaugeValues>(on, namedStatement(name, text), values)).rows;
}

const FEEDS = readStatement(new URL("./sql/survey-feeds.sql", import.meta.url));
const NO_FEEDS = { feeds: 0, feeds_silent: 0, feed_silence_longest_seconds: 0 };

/** Maximum counted: more indicate a faulty feed, and counting would cost the database more each time. */
const QUARANTINED_MAX = 100_000;

/** Queries for values that change within seconds; some milliseconds each. */
const FREQUENT: readonly SurveyQuery[] = [
  {
    gauges: {
      oldest_unapplied_seconds: "Age of the oldest unapplied batch; 0 if there is none.",
      buckets_behind: "Buckets with unapplied batches.",
    },
    async read({ on }) {
      const { lag, buckets } = await (await openLagReader(on, { waitingMax: 1 })).read();
      return [{ oldest_unapplied_seconds: lag.seconds, buckets_behind: buckets }];
    },
  },
  {
    gauges: {
      log_writers: "Log writers that are open, or closed and not fully applied.",
    },
    label: "state",
    read: queryOf(
      "survey-states-of-log-writers",
      `select state, count(log_writer_id)::integer as log_writers
      from (values ('open', false), ('closed', true)) as asked (state, is_closed)
      left join bellhop.log_writer on retired_at is null and (closed_at is not null) = is_closed
      group by state`,
    ),
  },
  {
    gauges: { buckets_unowned: "Buckets that no node applies." },
    read: async ({ on }) => [{ buckets_unowned: await countUnownedBuckets(on) }],
  },
  {
    gauges: {
      subscription_messages_waiting: "Reports and alerts that wait for delivery, 10,000 at most.",
    },
    read: queryOf(
      "survey-subscription-messages",
      `select count(*)::integer as subscription_messages_waiting
      from (select 1 from bellhop.subscription_message where state = 'waiting' limit 10000) as message`,
    ),
  },
  {
    // Of this database: an open transaction prevents the vacuuming of newer dead rows.
    gauges: {
      oldest_transaction_seconds:
        "Age of the database's oldest transaction; other roles' count only for members of pg_monitor.",
    },
    read: queryOf(
      "survey-transactions",
      `select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 as oldest_transaction_seconds
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
    ),
  },
  {
    gauges: { disk_free_bytes: "Free disk space of the embedded database." },
    read: async ({ dataDirectory }) =>
      dataDirectory === undefined ? [] : [{ disk_free_bytes: await freeDiskBytes(dataDirectory) }],
  },
];

/** Queries for values that change over hours; their cost grows with the data. */
const RARE: readonly SurveyQuery[] = [
  {
    gauges: { quarantine_held_records: "Records in quarantine, 100,000 at most." },
    // An index scan. (Citus cannot gather rows without columns.)
    read: queryOf(
      "survey-quarantine",
      `select count(*)::integer as quarantine_held_records
      from (select 1 from bellhop.quarantine where state = 'q' limit $1) as record`,
      QUARANTINED_MAX,
    ),
  },
  {
    gauges: {
      feeds: "Feeds (property and resource) that are expected to send batches and have sent one.",
      feeds_silent: "Feeds whose last batch is older than their cadence.",
      feed_silence_longest_seconds: "How long the most silent feed has exceeded its cadence.",
    },
    label: "resource",
    async read({ on }) {
      const settings = RESOURCES.map((resource) => settingNamed(`cadence.${resource}`));
      const names = settings.map(({ name }) => name);
      const fallbacks = settings.map(({ fallback }) => fallback);
      const { rows } = await query<GaugeValues>(on, FEEDS, [RESOURCES.map(letterOf), names, fallbacks]);
      return RESOURCES.map((resource) => {
        const found = rows.find((row) => row["resource"] === letterOf(resource));
        return { ...NO_FEEDS, ...found, resource };
      });
    },
  },
  {
    gauges: {
      database_bytes: "Bytes of the database on disk.",
      log_bytes: "Bytes of the log of accepted batches on disk, with its indexes.",
      log_partitions: "Partitions of the log of accepted batches.",
    },
    read: queryOf(
      "survey-sizes",
      `select pg_database_size(current_database())::float8 as database_bytes,
        count(partition.inhrelid)::integer as log_partitions,
        coalesce(sum(pg_total_relation_size(partition.inhrelid)), 0)::float8 as log_bytes
      from pg_inherits as partition
      where partition.inhparent = 'bellhop.accept_log'::regclass`,
    ),
  },
  {
    gauges: {
      retention_kept_seconds:
        "How far back a kind of data is complete, where retention has deleted some of it.",
    },
    label: "kind",
    read: queryOf(
      "survey-retention",
      `select kind, extract(epoch from clock_timestamp() - min(known_from))::float8 as retention_kept_seconds
      from bellhop.retention_horizon group by kind`,
    ),
  },
  {
    gauges: {
      wal_since_checkpoint_bytes:
        "Bytes of the write-ahead log since the last checkpoint, which a recovery would read.",
    },
    // Some hosting providers revoke the function.
    read: queryOf(
      "survey-checkpoint",
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as wal_since_checkpoint_bytes
      from pg_control_checkpoint()`,
    ),
  },
  {
    gauges: { wal_files_bytes: "Bytes of the files of the write-ahead log." },
    // Requires membership in pg_monitor.
    read: queryOf(
      "survey-wal-files",
      "select coalesce(sum(size), 0)::float8 as wal_files_bytes from pg_ls_waldir()",
    ),
  },
];

/**
 * Creates gauges for the whole installation, without values. Every node reports the same database values, so they must not be summed over
 * nodes. Values that could not be read are not reported, rather than as zero.
 */
export function createSurveyMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const gauges = new Map<string, Gauge>();
  for (const { gauges: helps, label } of [...FREQUENT, ...RARE])
    for (const [name, help] of Object.entries(helps)) {
      const labelNames = label === undefined ? [] : [label];
      const gauge = new Gauge({ name: `bellhop_${name}`, help, labelNames, registers });
      // A gauge without labels starts at 0, which /metrics would report before the first reading.
      if (label === undefined) gauge.remove();
      gauges.set(name, gauge);
    }
  const failures = new Counter({
    name: "bellhop_survey_failures_total",
    help: "Failed queries of the state of the installation.",
    registers,
  });
  return { registry, failures, gauges };
}

/**
 * Intervals in milliseconds; the first query runs soon after startup. After a slow query the next one waits `restPerWork` times as long as
 * it took, which limits the load to a twentieth of one connection.
 */
const PACE = { first: 500, often: 10_000, seldom: 60_000, restPerWork: 20 };

export interface SurveyOptions extends Surveyed {
  /** Called when a query fails; the others go on, and it is retried. */
  failed(error: unknown): void;
  readonly pace?: typeof PACE;
}

export interface Survey {
  metrics(): Promise<MetricValues>;
  /** Stops; the result of a running query is ignored. */
  stop(): void;
}

/** Periodically reads the state of the whole installation into gauges. One query at a time, so it uses one connection. */
export function startSurvey({ failed, pace = PACE, ...surveyed }: SurveyOptions): Survey {
  const metrics = createSurveyMetrics();
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();
  const timers = new Set<NodeJS.Timeout>();
  const runQuery = async (one: SurveyQuery): Promise<void> => {
    if (stopped) return;
    try {
      for (const { [one.label ?? ""]: of, ...values } of await one.read(surveyed))
        for (const [name, value] of Object.entries(values))
          metrics.gauges.get(name)?.set(one.label === undefined ? {} : { [one.label]: of }, Number(value));
    } catch (error) {
      if (stopped) return;
      metrics.failures.inc();
      failed(error);
    }
  };
  const repeat = (queries: readonly SurveyQuery[], everyMs: number, firstMs: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      turn = turn.then(async () => {
        const beganAt = performance.now();
        for (const one of queries) await runQuery(one);
        const tookMs = performance.now() - beganAt;
        if (!stopped) repeat(queries, everyMs, Math.max(everyMs, tookMs * pace.restPerWork));
      });
    }, firstMs).unref();
    timers.add(timer);
  };
  repeat(FREQUENT, pace.often, pace.first);
  repeat(RARE, pace.seldom, pace.first);
  return {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
