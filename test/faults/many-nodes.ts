import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { bucketsOfServers } from "../support/citus.ts";
import type { TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { type CommonFigures, runFigures } from "./campaign-report.ts";
import { checkAnswers } from "./check-answers.ts";
import { checkLog, countLost, type LogFindings } from "./check-log.ts";
import { checkApplied, checkSessions, longestLagMs } from "./check-sessions.ts";
import type { Ledger } from "./ledger.ts";
import type { PlantedFault } from "./plant.ts";
import { ServiceProcess, type ServiceProcessOptions } from "./service-process.ts";
import { leaseIsHeld } from "./takeover.ts";

/** What is asked of a campaign of several nodes on one database. */
export interface ManyNodesOptions<Fault extends string> {
  readonly nodes: number;
  readonly seed: number;
  /** From one fault to the next. */
  readonly everyMs: number;
  readonly durationMs: number;
  readonly senders: number;
  /** Only faults of this kind. */
  readonly only?: Fault | undefined;
  readonly plant?: PlantedFault | undefined;
  /** Ends the faults early; what was done until then is checked all the same. */
  readonly enough?: AbortSignal;
  readonly progress?: (line: string) => void;
}

/** What a campaign of several nodes came to. */
export interface ManyNodesReport extends CommonFigures {
  readonly seen: Readonly<Record<string, number>>;
}

export const READY_MS_MAX = 60_000;
export const TAKEOVER_MS_PROMISED = 5_000;
/** Nodes order what they accept by the database's clock, known to each to within a round trip: under load, that of a commit. */
const CLOCK_ERROR_MS_MAX = 1_000;
const THREADS = { httpThreads: 1, applyWriters: 1 } as const;

/** Nodes on one database (by one address, or each by its own), each with a data directory and a port of its own, all of one version. */
export async function prepareNodes(
  count: number,
  databaseUrl: string | ((node: number) => string),
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, at) =>
      ServiceProcess.prepare({
        ...options,
        environment: {
          DATABASE_URL: typeof databaseUrl === "string" ? databaseUrl : databaseUrl(at),
          HTTP_THREADS: String(THREADS.httpThreads),
          APPLY_WRITERS: String(THREADS.applyWriters),
          ...options.environment,
        },
      }),
    ),
  );
}

/** The same, all started at the same moment. */
export async function startNodes(
  count: number,
  databaseUrl: string | ((node: number) => string),
  environment: Readonly<Record<string, string>> = {},
  plant?: PlantedFault,
): Promise<ServiceProcess[]> {
  const nodes = await prepareNodes(count, databaseUrl, { environment, plant });
  for (const node of nodes) node.start();
  return nodes;
}

/** Until each applier has its share: a fault is to hit a node that has something to lose. */
export async function untilShared(pool: pg.Pool, nodes: number): Promise<void> {
  // The share of each server may be odd.
  const least = Math.floor(64 / (nodes * THREADS.applyWriters)) - (await bucketsOfServers(pool)).length + 1;
  const held = await leaseIsHeld(pool);
  await until(async () => {
    const { rows } = await pool.query<{ held: number }>(
      `select count(*)::integer as held from bellhop.bucket_lease lease where ${held} group by lease.owner`,
    );
    return rows.length === nodes * THREADS.applyWriters && rows.every(({ held }) => held >= least);
  }, READY_MS_MAX);
}

/**
 * Has one fault after another happen, each at its time, until the campaign's time is over. What was answered since the
 * fault before is looked for after each; answers how much of it is missing.
 */
export async function breakAtIntervals(
  { durationMs, everyMs, enough }: Pick<ManyNodesOptions<string>, "durationMs" | "everyMs" | "enough">,
  { pool }: TestDatabase,
  ledger: Ledger,
  one: () => Promise<void>,
): Promise<number> {
  const until = performance.now() + durationMs;
  let lost = 0;
  for (let next = performance.now(); next < until && enough?.aborted !== true; next += everyMs) {
    await delay(Math.max(0, next - performance.now()));
    await one();
    lost += await countLost(pool, ledger, ledger.takeUnchecked());
  }
  return lost;
}

async function checkAtRest(
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

/**
 * Checks everything that was answered once nothing is sent any more, ends the nodes in order, and says what the campaign
 * came to. `lostOnTheWay` is what was missing before.
 */
export async function reportAtRest(
  database: TestDatabase,
  nodes: readonly ServiceProcess[],
  token: string,
  ledger: Ledger,
  before: { readonly startedAt: number; readonly lostOnTheWay: number },
): Promise<ManyNodesReport> {
  const { findings, lagMs, problems } = await checkAtRest(database, nodes, token, ledger);
  const codes = await Promise.all(nodes.map((node) => node.end("SIGTERM")));
  const { doubled, storedUnanswered, outcomes } = findings;
  return {
    ...runFigures(ledger, before.startedAt),
    repeats: ledger.repeats,
    seen: ledger.seen,
    doubled,
    storedUnanswered,
    outcomes,
    lost: Math.max(before.lostOnTheWay, findings.lost),
    longestAnswerMs: ledger.longestAnswerMs,
    longestLagMs: lagMs,
    problems: [
      ...ledger.problems,
      ...problems,
      ...codes.filter((code) => code !== 0).map((code) => `SIGTERM at the end: exit code ${code}`),
    ],
  };
}
