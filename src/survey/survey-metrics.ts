import { Counter, Gauge, Registry } from "prom-client";

/**
 * What the installation is like as a whole. Every node tells the same of what the database knows, so they are not to be added
 * up over nodes; and what could not be seen is not told, so that nothing is taken for zero.
 */
export interface SurveyMetrics {
  readonly registry: Registry;
  readonly feeds: Gauge<"resource">;
  readonly feedsSilent: Gauge<"resource">;
  readonly silenceLongest: Gauge<"resource">;
  readonly held: Gauge;
  readonly oldestUnapplied: Gauge;
  readonly bucketsBehind: Gauge;
  readonly bucketsUnowned: Gauge;
  readonly lanes: Gauge<"state">;
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
    // A gauge without labels begins as 0, which would be told until it is known.
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
    held: gauge("quarantine_held_records", "Records that are held aside, 100,000 at most."),
    oldestUnapplied: gauge(
      "oldest_unapplied_seconds",
      "Age of the oldest batch that is accepted and not applied; 0 when there is none.",
    ),
    bucketsBehind: gauge("buckets_behind", "Buckets with something that is accepted and not applied."),
    bucketsUnowned: gauge("buckets_unowned", "Buckets that no node applies."),
    lanes: gauge("lanes", "Lanes that are open, and those that are closed and not applied to their end.", [
      "state",
    ]),
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
