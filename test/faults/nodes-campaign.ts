import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { Balancer } from "./balancer.ts";
import { BatchSource } from "./batch-source.ts";
import { checkAnswers } from "./check-answers.ts";
import { checkLog, countLost, type LogFindings } from "./check-log.ts";
import { checkApplied, checkSessions, longestLagMs } from "./check-sessions.ts";
import { explainStall } from "./explain-stall.ts";
import { KeyRotations } from "./key-rotations.ts";
import { Ledger } from "./ledger.ts";
import { newToken } from "./new-token.ts";
import type { PlantedFault } from "./plant.ts";
import { Senders } from "./senders.ts";
import { ServiceProcess } from "./service-process.ts";
import { type Takeover, watchTakeover } from "./takeover.ts";

export interface NodesOptions {
  readonly nodes: number;
  readonly seed: number;
  /** From one fault to the next. */
  readonly everyMs: number;
  readonly durationMs: number;
  readonly senders: number;
  /** Only faults of this kind. */
  readonly only?: NodeFault | undefined;
  readonly plant?: PlantedFault | undefined;
  /** Ends the faults early; what was done until then is checked all the same. */
  readonly enough?: AbortSignal;
  readonly told?: (line: string) => void;
}

export const NODE_FAULTS = ["kill", "stop", "restart"] as const;
/** `kill -9`; a process that is stopped (SIGSTOP) for a while and goes on; an orderly restart. */
export type NodeFault = (typeof NODE_FAULTS)[number];

/** What one campaign came to. Times are in milliseconds. */
export interface NodesReport {
  readonly options: NodesOptions;
  readonly faults: Readonly<Record<NodeFault, number>>;
  readonly takeovers: readonly (Takeover & { readonly fault: NodeFault })[];
  readonly readyMs: readonly number[];
  /** Of the signing key, beside restarts in order. */
  readonly rotations: number;
  readonly ledger: Ledger;
  readonly findings: LogFindings;
  readonly longestLagMs: number;
  readonly durationMs: number;
  readonly loadAverage: number;
  readonly cores: number;
  readonly problems: readonly string[];
}

export const READY_MS_MAX = 60_000;
const READY_MS_PROMISED = 10_000;
const TAKEOVER_MS_PROMISED = 5_000;
/** Longer than it takes to be taken over from. */
const STOPPED_MS = { least: 6_000, most: 10_000 } as const;
/** Nodes order what they accept by the database's clock, known to each to within a round trip: under load, that of a commit. */
const CLOCK_ERROR_MS_MAX = 1_000;
const THREADS = { httpThreads: 1, applyWriters: 1 } as const;

/** The nodes of one campaign, and what is done to them. */
class Faults {
  readonly counts: Record<NodeFault, number> = { kill: 0, stop: 0, restart: 0 };
  readonly takeovers: (Takeover & { readonly fault: NodeFault })[] = [];
  readonly readyMs: number[] = [];
  readonly #nodes: readonly ServiceProcess[];
  readonly #pool: pg.Pool;
  readonly #options: NodesOptions;
  readonly #random: SeededRandom;

  constructor(nodes: readonly ServiceProcess[], pool: pg.Pool, options: NodesOptions) {
    this.#nodes = nodes;
    this.#pool = pool;
    this.#options = options;
    this.#random = SeededRandom.stream(options.seed, 2);
  }

  /** One fault from its beginning until all nodes are there again. */
  async one(): Promise<void> {
    const random = this.#random;
    const at = random.between(0, this.#nodes.length - 1);
    const node = this.#nodes[at] as ServiceProcess;
    // Drawn in any case, so that the schedule of a seed is the same with and without `only`.
    const drawn = random.pick(["kill", "kill", "kill", "stop", "stop", "restart"] as const);
    const stoppedMs = random.between(STOPPED_MS.least, STOPPED_MS.most);
    const fault = this.#options.only ?? drawn;
    this.counts[fault] += 1;
    const startedAt = performance.now();
    const takeover = await watchTakeover(this.#pool, node.pid, () => this.#hit(node, fault));
    this.takeovers.push({ ...takeover, fault });
    if (fault === "stop") {
      await delay(Math.max(0, stoppedMs - (performance.now() - startedAt)));
      node.signal("SIGCONT");
    } else node.start();
    const restartedAt = performance.now();
    await node.untilReady(READY_MS_MAX);
    this.readyMs.push(performance.now() - restartedAt);
    this.#options.told?.(
      `${fault} node ${at + 1}: taken over after ${seconds(takeover.takenMs)}, first apply ${applied(takeover)}, ready again ${seconds(performance.now() - restartedAt)}`,
    );
  }

  async #hit(node: ServiceProcess, fault: NodeFault): Promise<void> {
    if (fault === "stop") node.signal("SIGSTOP");
    // Until the process is gone, which takes an orderly end some seconds.
    else await node.end(fault === "kill" ? "SIGKILL" : "SIGTERM");
  }
}

function applied({ firstApplyMs }: Takeover): string {
  return firstApplyMs === undefined ? "never, as no batch came" : `after ${seconds(firstApplyMs)}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Nodes on one database (by one address, or each by its own), each with a data directory and a port of its own; all are started at the same moment. */
export async function startNodes(
  count: number,
  databaseUrl: string | ((node: number) => string),
  environment: Readonly<Record<string, string>> = {},
  plant?: PlantedFault,
): Promise<ServiceProcess[]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, at) =>
      ServiceProcess.prepare({
        plant,
        environment: {
          DATABASE_URL: typeof databaseUrl === "string" ? databaseUrl : databaseUrl(at),
          HTTP_THREADS: String(THREADS.httpThreads),
          APPLY_WRITERS: String(THREADS.applyWriters),
          ...environment,
        },
      }),
    ),
  );
  for (const node of nodes) node.start();
  return nodes;
}

/** Runs nodes under load, does something to one of them at every interval, then checks everything that was answered. */
export async function runNodes(options: NodesOptions): Promise<NodesReport> {
  const startedAt = performance.now();
  const database = await createTestDatabase();
  const nodes = await startNodes(options.nodes, database.url, {}, options.plant);
  const ledger = new Ledger();
  const balancer = new Balancer(nodes.map(({ address }) => address));
  let senders: Senders | undefined;
  try {
    for (const node of nodes) await node.untilReady(READY_MS_MAX);
    const token = await newToken(nodes[0] as ServiceProcess);
    const { seed } = options;
    const route = () => balancer.route();
    const source = new BatchSource(seed);
    senders = new Senders({ route, token, source, ledger, seed, senders: options.senders });
    await untilShared(database.pool, options.nodes);
    const faults = new Faults(nodes, database.pool, options);
    const rotations = new KeyRotations(nodes, ledger, source);
    const lost = await breakAll(faults, rotations, database, ledger, options);
    await senders.stop();
    const atRest = await checkAtRest(database, nodes, token, ledger);
    const codes = await Promise.all(nodes.map((node) => node.end("SIGTERM")));
    const problems = [
      ...ledger.problems,
      ...atRest.problems,
      ...promises(faults),
      ...(options.only === "restart" ? failedRequests(ledger) : []),
      ...codes.filter((code) => code !== 0).map((code) => `SIGTERM at the end: exit code ${code}`),
    ];
    return {
      options,
      faults: faults.counts,
      takeovers: faults.takeovers,
      readyMs: faults.readyMs,
      rotations: rotations.count,
      ledger,
      findings: { ...atRest.findings, lost: Math.max(lost, atRest.findings.lost) },
      longestLagMs: atRest.lagMs,
      durationMs: performance.now() - startedAt,
      loadAverage: loadavg()[0] ?? Number.NaN,
      cores: availableParallelism(),
      problems,
    };
  } catch (error) {
    // Before they are gone: what the nodes and the database have to say about it.
    for (const line of await explainStall(database.pool, nodes)) options.told?.(line);
    throw error;
  } finally {
    senders?.abandon();
    await balancer.stop();
    for (const node of nodes) await node.remove();
    await database.drop();
  }
}

async function breakAll(
  faults: Faults,
  rotations: KeyRotations,
  { pool }: TestDatabase,
  ledger: Ledger,
  { durationMs, everyMs, nodes, enough, only }: NodesOptions,
): Promise<number> {
  const until = performance.now() + durationMs;
  let lost = 0;
  for (let next = performance.now(); next < until && enough?.aborted !== true; next += everyMs) {
    await delay(Math.max(0, next - performance.now()));
    const rotated = only === "restart" ? rotations.one() : undefined;
    await faults.one();
    await rotated;
    await untilShared(pool, nodes);
    lost += await countLost(pool, ledger, ledger.takeUnchecked());
  }
  return lost;
}

/** Until each applier has its share: a fault is to hit a node that has something to lose. */
export async function untilShared(pool: pg.Pool, nodes: number): Promise<void> {
  const least = Math.floor(64 / (nodes * THREADS.applyWriters));
  await until(async () => {
    const { rows } = await pool.query<{ held: number }>(
      `select count(*)::integer as held from bellhop.bucket_lease lease
      join pg_stat_activity holder on holder.pid = lease.backend_pid and holder.backend_start = lease.backend_start
      group by lease.owner`,
    );
    return rows.length === nodes * THREADS.applyWriters && rows.every(({ held }) => held >= least);
  }, READY_MS_MAX);
}

export async function checkAtRest(
  { pool }: TestDatabase,
  nodes: readonly ServiceProcess[],
  token: string,
  ledger: Ledger,
): Promise<{ findings: LogFindings; lagMs: number; problems: readonly string[] }> {
  const unapplied = await checkApplied(pool);
  const findings = await checkLog(pool, ledger, { clockErrorMsMax: CLOCK_ERROR_MS_MAX });
  const problems = [
    ...unapplied,
    ...findings.problems,
    ...(await checkSessions(pool, { nodes: nodes.length, ...THREADS })),
  ];
  for (const { address } of nodes) problems.push(...(await checkAnswers(address, token, ledger)));
  return { findings, lagMs: await longestLagMs(pool), problems };
}

/** Restarted in order, nobody is to see anything but 202. */
function failedRequests({ seen }: Ledger): string[] {
  const failed = Object.entries(seen).filter(([what]) => what !== "202");
  return failed.length === 0 ? [] : [`while nodes were restarted in order: ${JSON.stringify(failed)}`];
}

function promises({ takeovers, readyMs }: Faults): string[] {
  const late = takeovers.filter(
    ({ fault, takenMs, firstApplyMs }) =>
      // An orderly end takes its time, in which the node goes on.
      fault !== "restart" && Math.max(takenMs, firstApplyMs ?? 0) > TAKEOVER_MS_PROMISED,
  );
  return [
    ...late.map(
      (takeover) =>
        `after ${takeover.fault}: taken over after ${seconds(takeover.takenMs)}, first apply ${applied(takeover)}`,
    ),
    ...readyMs.filter((ms) => ms > READY_MS_PROMISED).map((ms) => `ready only after ${seconds(ms)}`),
  ];
}
