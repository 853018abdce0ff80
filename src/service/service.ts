import { hostname } from "node:os";
import { derivationAdvice } from "../apply/ledger/derivation.ts";
import { VERSION_WINDOWS } from "../apply/state/write-versions.ts";
import type { Config } from "../config.ts";
import { startDelivery } from "../delivery/deliver-messages.ts";
import { type Authenticator, createAuthenticator } from "../identity/authenticator.ts";
import { keepUpAcceptLog } from "../ingest/log/partitions.ts";
import { registerPayloadKeys } from "../ingest/log/payload-keys.ts";
import { keepLedgersPacked } from "../insight/pack-ledger.ts";
import { keepFiguresFresh } from "../insight/property-figures.ts";
import { startSurvey } from "../operations/metrics/survey.ts";
import { logSlowStatements, POOL_ANSWER_MS_MAX } from "../platform/db/connection.ts";
import type { Role } from "../platform/db/coordination.ts";
import { roomOnDisk } from "../platform/db/disk-watch.ts";
import { type Database, openDatabase } from "../platform/db/open-database.ts";
import { letLowerPriority, letOutsidersLowerPriority } from "../platform/runtime/lower-priority.ts";
import { requireOpenFiles } from "../platform/runtime/open-files.ts";
import { SharedCounter } from "../platform/runtime/shared-memory.ts";
import { Stops } from "../platform/runtime/stops.ts";
import type { Logger, LoggerOptions } from "../platform/telemetry/log.ts";
import { createMetrics, type Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { startMetricSending, startTracer } from "../platform/telemetry/telemetry.ts";
import { keepRetention } from "../retention/run-retention.ts";
import { startDeliverer } from "../webhooks/deliver-webhooks.ts";
import type { ApplyCalls } from "./apply-thread.ts";
import type { HttpCalls } from "./http-thread.ts";
import { canSharePort, requireFreePorts, serveTogether } from "./http-threads.ts";
import { KeyKeeper, knowledgeOf } from "./keep-keys.ts";
import { enterNode } from "./node-presence.ts";
import { ListeningAddresses, type Ports } from "./serve-http.ts";
import { letHeapsGrow, ServiceThread, type ThreadParts, threadLogOf } from "./service-thread.ts";
import { allocateSharedState, type SharedState } from "./shared-state.ts";
import { WholeProcess } from "./whole-process.ts";

/** Size of the main thread's pool: if it serves HTTP, and if it only starts, stops and maintains the service. */
const POOL_SIZE_SERVING = 10;
const POOL_SIZE_APART = 2;

const MIB = 1_048_576;
/** Bodies are outside the heap; parsed data within it never exceeds them. */
const HEAP_MB_LEAST = 512;

/** A running service. */
export interface Service {
  /** URL of the data endpoints of this process, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly authAddress: string;
  readonly database: Database;
  readonly authenticator: Authenticator;
  /** Settles when a thread ends unexpectedly; the caller then stops the rest. */
  readonly failed: Promise<Error>;
  /** From now on `/readyz` fails and every response closes its connection; requests are still accepted. */
  leave(): void;
  /** Answers requests in flight, completes running applies, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts everything in dependency order; a failed start stops what was started. With `logOptions`, those of `log`, threads write to its
 * destination; otherwise through it. Aborting `signal` ends the start.
 */
export async function startService(
  config: Config,
  log: Logger,
  logOptions?: LoggerOptions,
  signal?: AbortSignal,
): Promise<Service> {
  const stops = new Stops(signal);
  try {
    return await startInOrder(config, log, logOptions, stops, signal);
  } catch (error) {
    await stops
      .all()
      .catch((cause: unknown) => log.warn({ err: cause }, "cleaning up after a failed start failed"));
    throw error;
  }
}

/** The main thread's work for the whole process, besides serving HTTP. */
interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly stops: Stops;
  readonly shared: SharedState;
  readonly threads: Threads;
  readonly database: Database;
  readonly authenticator: Authenticator;
  readonly addresses: ListeningAddresses;
}

async function startInOrder(
  config: Config,
  log: Logger,
  logOptions: LoggerOptions | undefined,
  stops: Stops,
  signal: AbortSignal | undefined,
): Promise<Service> {
  requireOpenFiles();
  const threads = await startThreads(config, log, logOptions, stops);
  const poolSize = threads.http.length === 0 ? POOL_SIZE_SERVING : POOL_SIZE_APART;
  const metrics = createMetrics();
  const database = await openDatabase(config, log, {
    role: "service",
    onlyAccepts: config.roles.every((role) => role === "accept"),
    poolSize,
    answerMsMax: POOL_ANSWER_MS_MAX,
    // A first start creates a database: report a port in use before that.
    first: () => requireFreePorts(config),
    watch: logSlowStatements(config.slowQueryMs, log, metrics),
    signal,
  });
  stops.push(() => database.close());
  const { pool } = database;
  const advice = await derivationAdvice(pool);
  if (advice !== undefined) log.warn(advice);
  const shared = allocateSharedState(config.applyWriters);
  const addresses = new ListeningAddresses(config);
  const leaving = new SharedCounter(shared.leaving);
  threads.whole.add({
    blockedReason: async () => (leaving.value > 0 ? "The node is stopping." : undefined),
    // Without HTTP threads, this thread's HTTP server already reports this registry.
    metrics: async () => (threads.http.length === 0 ? [] : [await metrics.registry.getMetricsAsJSON()]),
  });
  await showNode(config, log, database, shared, threads.whole, stops);
  const authenticator = createAuthenticator({
    pool,
    config,
    log,
    addresses: addresses.read,
    changes: shared.authChanges,
  });
  await authenticator.prepare();
  const { internals } = authenticator;
  stops.add(await KeyKeeper.start({ pool, config, log, internals }));
  stops.push(registerPayloadKeys(pool, internals.cipher));
  await startUpkeep(config, log, metrics, database, stops);
  const failedToLower = (error: unknown) =>
    log.warn({ err: error }, "lowering the priority of other sessions failed");
  if (database.embedded) stops.add(letOutsidersLowerPriority(pool, failedToLower));
  const tracer = stops.add(await startTracer(config.telemetry, { log, metrics }));
  const start: Start = {
    config,
    log,
    metrics,
    tracer,
    stops,
    shared,
    threads,
    database,
    authenticator,
    addresses,
  };
  await startToApply(start);
  if (config.roles.includes("apply")) {
    startToDeliver(start);
    startToReport(start);
    startToKeepBooks(start);
  }
  startToSurvey(start);
  const { port, authPort } = await (threads.http.length === 0
    ? serveOnThisThread(start)
    : serveOnThreads(start));
  addresses.set({ base: port, auth: authPort ?? port });
  const readAll = () => threads.whole.readMetrics();
  // Stopped first, because stopped threads report no metrics.
  stops.add(await startMetricSending(config.telemetry, { log, metrics }, readAll));
  return {
    address: addresses.base,
    authAddress: addresses.auth,
    database,
    authenticator,
    failed: threads.died,
    leave: () => leaving.increment(),
    stop: () => stops.all(),
  };
}

function startToKeepBooks({ database, log, stops }: Start): void {
  const { pool, clientConfig, embedded } = database;
  stops.add(
    keepLedgersPacked({
      pool,
      clientConfig,
      packing: (processId) => embedded && letLowerPriority(processId),
      failed: (error) => log.warn({ err: error }, "packing ledgers failed"),
    }),
  );
  stops.add(
    keepFiguresFresh(pool, (error, property) =>
      log.warn({ err: error, ...property }, "computing figures failed"),
    ),
  );
}

/** Creates future time windows, and runs retention on past ones. */
async function startUpkeep(
  { retentionWindowMs, roles, minFreeDiskBytes }: Config,
  log: Logger,
  metrics: Metrics,
  database: Database,
  stops: Stops,
): Promise<void> {
  const upkeepFailed = (error: unknown) => log.warn({ err: error }, "maintenance of the log failed");
  stops.add(await keepUpAcceptLog(database.pool, retentionWindowMs, VERSION_WINDOWS, upkeepFailed));
  if (!roles.includes("apply")) return;
  const retention = keepRetention(database, retentionWindowMs, {
    progress: ({ table, window, rows, keptRows, replaced }) => {
      if (replaced !== null) metrics.retentionWindows.inc({ table });
      log.info({ table, window, rows, keptRows, ...replaced }, "expired data was deleted");
    },
    ran: ({ state }) => {
      metrics.retentionRuns.inc({ state });
      if (state === "done") metrics.retentionRunTimestamp.setToCurrentTime();
    },
    failed: (error) => {
      metrics.retentionRuns.inc({ state: "failed" });
      log.warn({ err: error }, "retention failed and is retried");
    },
    // At normal priority it would get ten times as much CPU time as appliers under full load.
    copying: (processId) => database.embedded && letLowerPriority(processId),
    roomBytes: () => roomOnDisk(database, minFreeDiskBytes),
  });
  stops.add(retention);
}

/** Announces this node and its knowledge to the others, and counts them. */
async function showNode(
  config: Config,
  log: Logger,
  { clientConfig }: Database,
  shared: SharedState,
  whole: WholeProcess,
  stops: Stops,
): Promise<void> {
  const presence = stops.add(
    await enterNode({
      clientConfig,
      owner: `${hostname()}/${process.pid}`,
      // Appliers register themselves.
      roles: config.roles.filter((role) => role !== "apply"),
      knowledge: knowledgeOf(config),
      counted: (present) => {
        for (const role of ["accept", "read"] as const)
          new SharedCounter(shared.nodes[role]).value = present.get(role) ?? 0;
      },
      failed: (error) => log.warn({ err: error }, "the node's own session failed and is reopened"),
    }),
  );
  whole.add({ blockedReason: async () => presence.blockedReason(), metrics: async () => [] });
}

/** The threads of a service besides the main one. */
interface Threads {
  readonly whole: WholeProcess;
  /** Empty if this node does not apply. */
  readonly apply: readonly ServiceThread<ApplyCalls>[];
  /** Empty if the main thread serves HTTP. */
  readonly http: readonly ServiceThread<HttpCalls>[];
  readonly died: Promise<Error>;
}

/** Starts the threads first, so that they load their modules while the database is opened. */
async function startThreads(
  config: Config,
  log: Logger,
  logOptions: LoggerOptions | undefined,
  stops: Stops,
): Promise<Threads> {
  letHeapsGrow();
  const whole = new WholeProcess(config.roles);
  const parts: ThreadParts = {
    threadLog: threadLogOf(log, logOptions),
    log,
    main: whole.calls,
    heapMbMax: HEAP_MB_LEAST + Math.ceil(config.limits.bodiesInFlightBytesMax / MIB),
  };
  const roles = new Set<Role>(config.roles);
  const serves = roles.has("accept") || roles.has("read");
  const several = serves && config.httpThreads > 1 && (await canSharePort(config.host));
  const apply = Array.from(
    { length: roles.has("apply") ? config.applyWriters : 0 },
    (_, at) => new ServiceThread<ApplyCalls>("apply", `apply-${at + 1}`, parts),
  );
  const http = Array.from(
    { length: several ? config.httpThreads : 0 },
    (_, at) => new ServiceThread<HttpCalls>("http", `http-${at + 1}`, parts),
  );
  const all = [...apply, ...http];
  stops.push(() => Promise.all(all.map((thread) => thread.leave())));
  for (const thread of apply) whole.addThread(thread, ["apply"]);
  for (const thread of http) whole.addThread(thread, ["accept", "read"]);
  return { whole, apply, http, died: Promise.race(all.map((thread) => thread.died)) };
}

async function startToApply({ config, stops, shared, threads, database }: Start): Promise<void> {
  const { session, dataDirectory } = database;
  const order = {
    config,
    session,
    dataDirectory,
    hints: shared.hints,
    rates: shared.rates,
    heavyUntil: shared.heavyUntil,
  };
  stops.push(() => Promise.all(threads.apply.map((thread) => thread.stop())));
  await Promise.all(threads.apply.map((thread, writer) => thread.call("start", { ...order, writer })));
}

/** Delivers webhooks on the main thread, which has little else to do besides HTTP threads. */
function startToDeliver({ stops, database, authenticator, ...start }: Start): void {
  const { clientConfig } = database;
  const { cipher, cursorKey } = authenticator.internals;
  stops.add(startDeliverer({ ...start, clientConfig, cipher, cursorKey }));
}

/** Sends reports and alerts to operators. */
function startToReport({ stops, database, authenticator, addresses, ...start }: Start): void {
  const { clientConfig } = database;
  const { cursorKey } = authenticator.internals;
  stops.add(startDelivery({ ...start, clientConfig, baseUrl: () => addresses.read().baseUrl, cursorKey }));
}

function startToSurvey({ log, stops, threads, database }: Start): void {
  const { pool, dataDirectory } = database;
  const failed = (error: unknown) =>
    log.debug({ err: error }, "collecting metrics of the installation failed");
  const survey = stops.add(startSurvey({ on: pool, dataDirectory, failed }));
  threads.whole.add({ metrics: async () => [await survey.metrics()] });
}

async function serveOnThreads({ config, stops, shared, threads, database }: Start): Promise<Ports> {
  const { session, dataDirectory } = database;
  stops.push(() => Promise.all(threads.http.map((thread) => thread.stop())));
  return await serveTogether(threads.http, { config, session, dataDirectory, shared });
}

async function serveOnThisThread(start: Start): Promise<Ports> {
  const { config, stops, threads, database } = start;
  const { calls } = threads.whole;
  const process = {
    processBlockedReason: () => calls.blockedReason(undefined),
    processMetrics: () => calls.metrics(undefined),
  };
  // HTTP threads load it in parallel.
  const { prepareHttp } = await import("./serve-http.ts");
  const serving = await prepareHttp({ ...start, ...database, thread: "main", process }, stops);
  threads.whole.add({
    blockedReason: async (role) => serving.blockedReason(role),
    metrics: async () => [await serving.metrics()],
  });
  return await serving.listen({ port: config.port, authPort: config.authPort, shared: false });
}
