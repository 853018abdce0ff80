import { setTimeout as delay } from "node:timers/promises";
import { serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { BatchSource } from "./batch-source.ts";
import { type CampaignReport, runFigures } from "./campaign-report.ts";
import { checkAnswers } from "./check-answers.ts";
import { checkLog, countLost, type LogFindings } from "./check-log.ts";
import { checkApplied, checkSessions, hasOpenLogWriter, longestLagMs } from "./check-sessions.ts";
import { clusterOf, withDatabaseOf } from "./database-of-service.ts";
import { Ledger } from "./ledger.ts";
import { newToken } from "./new-token.ts";
import { Senders } from "./senders.ts";
import type { ServiceProcess } from "./service-process.ts";

export interface CampaignOptions {
  readonly times: number;
  readonly seed: number;
  readonly senders?: number;
  /** From a fault's end to ready, and to the end of a drain; what takes longer is a problem. By default not judged. */
  readonly promisedMs?: number;
  /** Ends the faults early; what was done until then is checked all the same. */
  readonly enough?: AbortSignal;
  /** After each fault: how many so far, of what, and milliseconds until ready. */
  readonly onFault?: (fault: number, what: string, readyMs: number) => void;
}

/** What the service is under while something is done to it. */
export interface Load {
  readonly ledger: Ledger;
  readonly token: string;
  readonly source: BatchSource;
  readonly seed: number;
}

/** What is done to the service, one fault after another. */
export interface Faults {
  /** One fault, from its beginning until the service is ready again. Answers what it was and milliseconds until ready. */
  one(load: Load): Promise<{ readonly what: string; readonly readyMs: number }>;
  /** Of what, how often; one fault may be several. */
  readonly counts: Readonly<Record<string, number>>;
  /** What was seen on the way that must not be, as sentences. */
  readonly problems?: readonly string[];
  /** Further figures for people. */
  readonly figures?: () => readonly string[];
}

/** What was drawn for one fault: of which kind it is, and whatever else is left to chance. */
export interface DrawnOf<Kind extends string> {
  readonly kind: Kind;
}

/** Faults of a few kinds at moments of a seed. */
export abstract class FaultsOfKinds<Kind extends string, Drawn extends DrawnOf<Kind>> implements Faults {
  readonly counts: Record<string, number> = {};
  readonly problems: string[] = [];
  protected readonly service: ServiceProcess;
  protected readonly random: SeededRandom;
  readonly #only: Kind | undefined;
  readonly #upMsMax: number;

  /** A fault begins so long after the one before at most. */
  constructor(
    service: ServiceProcess,
    { seed, only }: { readonly seed: number; readonly only?: Kind | undefined },
    upMsMax: number,
  ) {
    this.service = service;
    this.random = SeededRandom.stream(seed, 2);
    this.#only = only;
    this.#upMsMax = upMsMax;
  }

  async one(load: Load): Promise<{ what: string; readyMs: number }> {
    await delay(this.random.between(0, this.#upMsMax));
    // Drawn in any case, so that a seed's moments are the same with and without `only`.
    const drawn = this.draw(this.random);
    const kind = this.#only ?? drawn.kind;
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    return { what: kind, readyMs: await this.happen({ ...drawn, kind }, load) };
  }

  protected abstract draw(random: SeededRandom): Drawn;

  /** From the fault's beginning until the service is ready again; answers milliseconds from its end until then. */
  protected abstract happen(drawn: Drawn, load: Load): Promise<number>;
}

export const SENDERS = 8;
/** What takes longer than this to be ready ends the campaign. */
export const READY_MS_MAX = 60_000;

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/**
 * Runs the service under load through faults, `times` of them, then checks everything that was answered. The data
 * directory is removed unless a problem was found; then a problem names it.
 */
export async function runCampaign(
  service: ServiceProcess,
  options: CampaignOptions,
  faults: Faults,
): Promise<CampaignReport> {
  const startedAt = performance.now();
  const { dataDir, address } = service;
  const ledger = new Ledger();
  const readyMs: number[] = [];
  let senders: Senders | undefined;
  service.start();
  try {
    await service.untilReady(READY_MS_MAX);
    const token = await newToken(service);
    const source = new BatchSource(options.seed);
    const { seed, senders: count = SENDERS } = options;
    senders = new Senders({ route: () => ({ address }), token, source, ledger, seed, senders: count });
    let lostOnTheWay = 0;
    while (sum(faults.counts) < options.times && options.enough?.aborted !== true) {
      const fault = await faults.one({ ledger, token, source, seed });
      readyMs.push(fault.readyMs);
      options.onFault?.(sum(faults.counts), fault.what, fault.readyMs);
      lostOnTheWay += await withDatabaseOf(dataDir, (pool) =>
        countLost(pool, ledger, ledger.takeUnchecked()),
      );
    }
    await senders.stop();
    const atRest = await checkAtRest(dataDir, service, token, ledger);
    const drain = await stopOrderly(dataDir, service);
    const { promisedMs = Number.POSITIVE_INFINITY } = options;
    const slow = [...readyMs, drain.ms].filter((ms) => ms > promisedMs);
    const problems = [
      ...ledger.problems,
      ...(faults.problems ?? []),
      ...atRest.problems,
      ...drain.problems,
      ...slow.map((ms) => `ready, or drained, only after ${Math.round(ms)} ms`),
    ];
    if (problems.length === 0) await service.remove();
    else problems.push(`the data directory is kept: ${dataDir}`);
    return {
      ...runFigures(ledger, startedAt),
      seed,
      faults: sum(faults.counts),
      ofWhat: faults.counts,
      figures: faults.figures?.() ?? [],
      repeats: ledger.repeats,
      refusals: ledger.refusals,
      ...atRest.findings,
      lost: Math.max(lostOnTheWay, atRest.findings.lost),
      readyMs,
      longestAnswerMs: ledger.longestAnswerMs,
      longestLagMs: atRest.lagMs,
      drainMs: drain.ms,
      problems,
    };
  } finally {
    senders?.abandon();
    await service.remove({ keepData: true });
  }
}

/**
 * Waits until the service is ready in its own words, its database has an open log writer, and a batch that was sent after
 * `since` (of `performance.now`) was answered 202: its word alone may still be that from before.
 */
export async function untilAccepting(
  service: ServiceProcess,
  { ledger }: Load,
  since: number,
): Promise<void> {
  await until(
    async () =>
      ledger.lastAcceptedSentAt > since &&
      (await service.isReady()) &&
      (await hasOpenLogWriter(service.dataDir)),
    READY_MS_MAX,
  );
}

interface AtRest {
  readonly findings: LogFindings;
  readonly lagMs: number;
  readonly problems: readonly string[];
}

async function checkAtRest(
  dataDir: string,
  service: ServiceProcess,
  token: string,
  ledger: Ledger,
): Promise<AtRest> {
  return await withDatabaseOf(dataDir, async (pool) => {
    const unapplied = await checkApplied(pool);
    const findings = await checkLog(pool, ledger);
    const problems = [
      ...unapplied,
      ...findings.problems,
      ...(await checkSessions(pool)),
      ...(await checkAnswers(service.address, token, ledger)),
    ];
    return { findings, lagMs: await longestLagMs(pool), problems };
  });
}

async function stopOrderly(
  dataDir: string,
  service: ServiceProcess,
): Promise<{ ms: number; problems: string[] }> {
  const startedAt = performance.now();
  const code = await service.end("SIGTERM");
  const ms = performance.now() - startedAt;
  const problems: string[] = [];
  if (code !== 0) problems.push(`SIGTERM at the end: exit code ${code}`);
  const left = await serverProcesses(await clusterOf(dataDir));
  if (left.length > 0) problems.push(`${left.length} processes of PostgreSQL are left after the end`);
  return { ms, problems };
}
