import { BUCKET_COUNT } from "../accept/bucket.ts";
import { Applier } from "../apply/applier.ts";
import { PropertyDirectory } from "../apply/property-directory.ts";
import { clientConfig, type SessionSource } from "../db/connection.ts";
import { createPool } from "../db/pool.ts";
import type { Logger } from "../observe/log.ts";
import { createMetrics, type Metrics, type MetricValues, readMetrics } from "../observe/metrics.ts";
import { BucketHints } from "./bucket-hints.ts";
import type { ThreadContext } from "./thread-data.ts";

const OUTCOME_NAMES = {
  a: "applied",
  u: "unchanged",
  s: "stale",
  d: "duplicate",
  q: "quarantined",
  x: "discarded",
} as const;

/** What the applying thread needs to know. */
export interface ApplyOrder {
  readonly session: SessionSource;
  readonly applyWriters: number;
  readonly applyPollMs: number;
  /** Memory of the BucketHints that the accepting threads tell. */
  readonly hints: SharedArrayBuffer;
}

/** What the applying thread answers. */
export interface ApplyCalls {
  readonly [name: string]: (argument: never) => unknown;
  start(order: ApplyOrder): void;
  /** Values of the thread's own metrics. */
  metrics(_: undefined): Promise<MetricValues>;
  /** Lets running transactions end and closes every connection. */
  stop(_: undefined): Promise<void>;
}

function startAppliers(order: ApplyOrder, metrics: Metrics, log: Logger) {
  const { applyWriters } = order;
  const config = clientConfig(order.session.address, order.session.synchronousCommit);
  // Each applier asks the pool one thing at a time.
  const pool = createPool(config, log, applyWriters + 1);
  const properties = new PropertyDirectory(pool);
  const appliers = Array.from({ length: applyWriters }, (_, writer) => {
    const applier = new Applier({
      clientConfig: config,
      pool,
      properties,
      owner: `${process.pid}/${writer}`,
      buckets: Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket).filter(
        (bucket) => bucket % applyWriters === writer,
      ),
      pollMs: order.applyPollMs,
      events: {
        applied(counts, oldestReceivedAt, durationMs) {
          for (const [letter, count] of Object.entries(counts)) {
            metrics.appliedRecords.inc(
              { outcome: OUTCOME_NAMES[letter as keyof typeof OUTCOME_NAMES] },
              count,
            );
          }
          metrics.applySeconds.observe(durationMs / 1000);
          metrics.applyLagSeconds.set(Math.max(0, (Date.now() - oldestReceivedAt.getTime()) / 1000));
        },
        failed(error) {
          metrics.applyFailures.inc();
          log.warn({ err: error }, "apply failed and is tried again");
        },
      },
    });
    applier.start();
    return applier;
  });
  return { appliers, pool };
}

/** The thread that applies: one for all appliers of the process, so that what they do never delays an answer. */
export function begin({ name, log }: ThreadContext): ApplyCalls {
  const metrics = createMetrics();
  const stopping = new AbortController();
  let stop = async (): Promise<void> => undefined;
  return {
    start(order) {
      const { appliers, pool } = startAppliers(order, metrics, log);
      const hints = new BucketHints(order.hints);
      void hints.listen((buckets) => {
        for (const applier of appliers) applier.wake(buckets);
      }, stopping.signal);
      stop = async () => {
        stopping.abort();
        hints.wakeListeners();
        await Promise.all(appliers.map((applier) => applier.stop()));
        await pool.end();
      };
    },
    metrics: () => readMetrics(metrics, name),
    stop: () => stop(),
  };
}
