import { hostname } from "node:os";
import { SpanKind } from "@opentelemetry/api";
import { Applier, type ApplierEvents } from "../apply/applier.ts";
import { type LogPart, PropertyDirectory } from "../apply/backlog.ts";
import { type ApplySessionParts, applySessions } from "../apply/postgres-apply-session.ts";
import { ServerAppliers } from "../apply/server-appliers.ts";
import type { Config } from "../config.ts";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { HeavySenders } from "../ingest/heavy-senders.ts";
import { BUCKET_COUNT } from "../ingest/log/part-name.ts";
import { registerPayloadKeys } from "../ingest/log/payload-keys.ts";
import { createSecretCipher } from "../platform/crypto/secret-cipher.ts";
import {
  clientConfig,
  createPool,
  logSlowStatements,
  POOL_ANSWER_MS_MAX,
  type SessionSource,
} from "../platform/db/connection.ts";
import { DiskWatch, LEFT_FREE } from "../platform/db/disk-watch.ts";
import { letLowerPriority, lowerPriority } from "../platform/runtime/lower-priority.ts";
import { SharedCounter, SharedHints } from "../platform/runtime/shared-memory.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import { createMetrics, type Metrics, readMetrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { startTracer, unpackTraceContext } from "../platform/telemetry/telemetry.ts";
import { outcomeName } from "../query/outcome.ts";
import type { ThreadCalls, ThreadContext } from "./service-thread.ts";

/** Parameters of an apply thread. */
export interface ApplyOrder {
  readonly config: Config;
  readonly session: SessionSource;
  /** Of the embedded database. */
  readonly dataDirectory: string | undefined;
  /** Number of this apply thread, from 0. */
  readonly writer: number;
  /** Memory of the SharedHints that accepting threads set. */
  readonly hints: SharedArrayBuffer;
  /** Memory of the rates of clients. */
  readonly rates: SharedArrayBuffer;
  readonly heavyUntil: SharedArrayBuffer;
}

export type ApplyCalls = ThreadCalls & { start(order: ApplyOrder): Promise<void> };

interface ApplyParts {
  readonly hints: SharedHints;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly tracer: Tracer | undefined;
}

/** Traces a committed apply transaction: a span for each part whose batch was traced, as a child of its request's span, from any node. */
function traceApplied(tracer: Tracer, parts: readonly LogPart[], records: number, durationMs: number): void {
  const endMs = Date.now();
  for (const part of parts) {
    const request = unpackTraceContext(part.traceContext);
    if (request === undefined) continue;
    const attributes = {
      "bellhop.request_id": part.requestId,
      "bellhop.bucket": part.bucket,
      "bellhop.run.parts": parts.length,
      "bellhop.run.records": records,
    };
    const options = { kind: SpanKind.CONSUMER, startTime: endMs - durationMs, attributes };
    tracer.beginWithin(request, "apply", options).end(endMs);
  }
}

function startApplier(order: ApplyOrder, { hints, metrics, log, tracer }: ApplyParts) {
  const { writer, config, session, dataDirectory } = order;
  const connection = clientConfig(session.address, session.synchronousCommit);
  // Two connections: a property's id and a client's statuses may be queried at the same time.
  const watch = logSlowStatements(config.slowQueryMs, log, metrics);
  const pool = createPool(connection, log, 2, POOL_ANSWER_MS_MAX, watch);
  const cipher = createSecretCipher(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
  const closePayloads = registerPayloadKeys(pool, cipher);
  const properties = new PropertyDirectory(pool);
  const diskWatch = new DiskWatch(dataDirectory, config.minFreeDiskBytes * LEFT_FREE);
  const heavySenders = new HeavySenders(
    createRateLimiter(undefined, order.rates),
    new SharedCounter(order.heavyUntil),
  );
  const sessions: ApplySessionParts = {
    clientConfig: connection,
    pool,
    properties,
    watch,
    connected(processId) {
      // The same priority as the apply threads.
      if (dataDirectory !== undefined) letLowerPriority(processId);
    },
    entered: (clientId, records, rows) => heavySenders.applied(clientId, records, rows),
  };
  const owner = `${hostname()}/${process.pid}/${writer + 1}`;
  const failed = (error: unknown) => {
    metrics.applyFailures.inc();
    log.warn({ err: error }, "apply failed and is retried");
  };
  const events: ApplierEvents = {
    applied(counts, oldestReceivedAt, durationMs, parts) {
      let records = 0;
      for (const [letter, count] of Object.entries(counts)) {
        metrics.appliedRecords.inc({ outcome: outcomeName(letter) }, count);
        records += count;
      }
      if (tracer !== undefined) traceApplied(tracer, parts, records, durationMs);
      metrics.applySeconds.observe(durationMs / 1000);
      metrics.applyLagSeconds.set(Math.max(0, (Date.now() - oldestReceivedAt.getTime()) / 1000));
    },
    failed,
    ended({ owner: of, pid, silent_seconds }) {
      metrics.silentSessionsEnded.inc();
      log.warn({ owner: of, pid, silentSeconds: silent_seconds }, "took over from an unresponsive node");
    },
  };
  const applier = new ServerAppliers({
    clientConfig: connection,
    owner,
    failed,
    owns(buckets) {
      hints.own(writer, buckets);
      metrics.bucketsOwned.set(buckets.length);
    },
    appliersAt: (server, owns) => {
      const at = server === undefined ? sessions : { ...sessions, server };
      return new Applier({
        // A worker's buckets are for appliers of that worker, of which the threads do not know.
        ...(server === undefined ? { siblings: hints.siblingsOf(writer) } : {}),
        blocked: () => diskWatch.blocked,
        openSession: applySessions(at),
        owner,
        pollMs: config.applyPollMs,
        events: { ...events, owns },
      });
    },
  });
  applier.start();
  return { applier, pool, diskWatch, closePayloads };
}

/** Starts a thread that applies its share of the buckets, so that applying does not delay responses. */
export function begin({ name, log }: ThreadContext): ApplyCalls {
  lowerPriority();
  const metrics = createMetrics();
  const stopping = new AbortController();
  let stop = async (): Promise<void> => undefined;
  let blocked = (): string | undefined => `The thread ${name} has not been started.`;
  return {
    async start(order) {
      const hints = new SharedHints(order.hints, BUCKET_COUNT);
      const tracer = await startTracer(order.config.telemetry, { log, metrics });
      const parts = { hints, metrics, log, tracer };
      const { applier, pool, diskWatch, closePayloads } = startApplier(order, parts);
      blocked = () =>
        diskWatch.blocked ?? (applier.ready ? undefined : `The thread ${name} has no database connection.`);
      const hear = (buckets: readonly number[], isOffered: boolean) => {
        applier.wake(buckets);
        if (isOffered) applier.offered();
      };
      void hints.listen(order.writer, hear, stopping.signal);
      stop = async () => {
        stopping.abort();
        hints.wakeListeners();
        await applier.stop();
        diskWatch.stop();
        closePayloads();
        await pool.end();
        await tracer?.stop();
      };
    },
    blockedReason: () => blocked(),
    metrics: () => readMetrics(metrics, name),
    stop: () => stop(),
  };
}
