import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { serverProcesses } from "../../src/db/embedded/postmaster.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { BatchSource } from "./batch-source.ts";
import { checkAnswers } from "./check-answers.ts";
import { checkLog, countLost, type LogFindings } from "./check-log.ts";
import { checkSessions, hasOpenLane, longestLagMs, untilApplied } from "./check-sessions.ts";
import { clusterOf, withDatabaseOf } from "./database-of-service.ts";
import type { KillReport, KillTarget } from "./kill-report.ts";
import { Ledger } from "./ledger.ts";
import { newToken } from "./new-token.ts";
import type { PlantedFault } from "./plant.ts";
import { killPostgres, pickVictim } from "./postgres-victims.ts";
import { Senders } from "./senders.ts";
import { ServiceProcess } from "./service-process.ts";

export interface KillOptions {
  readonly target: KillTarget;
  readonly times: number;
  readonly seed: number;
  readonly senders?: number;
  readonly plant?: PlantedFault | undefined;
  /** From a crash to ready, and to the end of a drain; what takes longer is a problem. By default not judged. */
  readonly promisedMs?: number;
  /** Ends the kills early; what was done until then is checked all the same. */
  readonly enough?: AbortSignal;
  /** After each kill: how many so far, of what, and milliseconds until ready. */
  readonly told?: (kill: number, what: string, readyMs: number) => void;
}

/** What takes longer than this to be ready ends the campaign. */
const READY_MS_MAX = 60_000;
const APPLIED_MS_MAX = 120_000;
/** A kill comes so long after ready at most: into the first flushes, the takeover of buckets, or the steady load. */
const UP_MS_MAX = 1_500;
/** A start takes about half a second, a recovery less; a second kill is to fall into them. */
const IN_START_MS_MAX = 700;
const IN_RECOVERY_MS_MAX = 400;
const SECOND_KILL = 0.15;

/** The kills of one campaign, one after another; each is over when the service is ready again. */
class Killer {
  readonly readyMs: number[] = [];
  readonly killed: Record<string, number> = {};
  kills = 0;
  readonly #service: ServiceProcess;
  readonly #options: KillOptions;
  readonly #random: SeededRandom;

  constructor(service: ServiceProcess, options: KillOptions) {
    this.#service = service;
    this.#options = options;
    this.#random = SeededRandom.stream(options.seed, 2);
  }

  async killOnce(): Promise<void> {
    const random = this.#random;
    await delay(random.between(0, UP_MS_MAX));
    const { target } = this.#options;
    const what = await (target === "postgres" ? this.#killPostgres() : this.#killService());
    const again = this.kills < this.#options.times && random.chance(SECOND_KILL);
    if (target !== "postgres") {
      if (again) await this.#killInStart();
      await this.#startAgain(what);
    } else {
      if (again) {
        await delay(random.between(0, IN_RECOVERY_MS_MAX));
        await this.#killPostgres();
      }
      await this.#untilBack(what);
    }
  }

  async #killService(): Promise<string> {
    const { target } = this.#options;
    const what = target === "both" ? "service and PostgreSQL" : "service";
    // PostgreSQL first, in the same turn as far as the system lets: the service must not see it gone and tidy up.
    if (target === "both")
      await killPostgres(await clusterOf(this.#service.dataDir), "everything", this.#random);
    await this.#service.end("SIGKILL");
    this.#count(what);
    return what;
  }

  async #killInStart(): Promise<void> {
    this.#service.start();
    await delay(this.#random.between(0, IN_START_MS_MAX));
    await this.#service.end("SIGKILL");
    this.#count("in the start");
  }

  async #startAgain(what: string): Promise<void> {
    const startedAt = performance.now();
    this.#service.start();
    await this.#service.untilReady(READY_MS_MAX);
    this.#ready(what, performance.now() - startedAt);
  }

  #backends: readonly number[] = [];
  #killedAt = 0;

  async #killPostgres(): Promise<string> {
    const victim = pickVictim(this.#random);
    let backends: readonly number[] | undefined;
    await until(async () => {
      backends = await killPostgres(await clusterOf(this.#service.dataDir), victim, this.#random);
      return backends !== undefined;
    }, READY_MS_MAX);
    this.#killedAt = performance.now();
    this.#backends = backends ?? [];
    this.#count(victim);
    return victim;
  }

  /**
   * Back is a PostgreSQL without any backend of before, an open lane in it, and a service that says it is ready: its
   * word alone may still be that from before the kill, as long as it has not noticed.
   */
  async #untilBack(what: string): Promise<void> {
    const { dataDir } = this.#service;
    const cluster = await clusterOf(dataDir);
    await until(async () => {
      const alive = new Set(await serverProcesses(cluster));
      return !this.#backends.some((pid) => alive.has(pid)) && (await hasOpenLane(dataDir));
    }, READY_MS_MAX);
    await this.#service.untilReady(READY_MS_MAX);
    this.#ready(what, performance.now() - this.#killedAt);
  }

  #count(what: string): void {
    this.kills += 1;
    this.killed[what] = (this.killed[what] ?? 0) + 1;
  }

  #ready(what: string, ms: number): void {
    this.readyMs.push(ms);
    this.#options.told?.(this.kills, what, ms);
  }
}

/**
 * Runs the service under load and kills it, its PostgreSQL or both `times` times at moments of the seed, then checks
 * everything that was answered. The data directory is removed unless a problem was found; then a problem names it.
 */
export async function runKills(options: KillOptions): Promise<KillReport> {
  const startedAt = performance.now();
  const service = await ServiceProcess.prepare({ plant: options.plant });
  const { dataDir } = service;
  const ledger = new Ledger();
  const killer = new Killer(service, options);
  let senders: Senders | undefined;
  service.start();
  try {
    await service.untilReady(READY_MS_MAX);
    const token = await newToken(service);
    const { address } = service;
    const source = new BatchSource(options.seed);
    const { seed, senders: count = 8 } = options;
    senders = new Senders({ route: () => ({ address }), token, source, ledger, seed, senders: count });
    let lostOnTheWay = 0;
    while (killer.kills < options.times && options.enough?.aborted !== true) {
      await killer.killOnce();
      lostOnTheWay += await withDatabaseOf(dataDir, (pool) =>
        countLost(pool, ledger, ledger.takeUnchecked()),
      );
    }
    await senders.stop();
    const atRest = await checkAtRest(dataDir, service, token, ledger);
    const drain = await stopOrderly(dataDir, service);
    const { promisedMs = Number.POSITIVE_INFINITY } = options;
    const slow = [...killer.readyMs, drain.ms].filter((ms) => ms > promisedMs);
    const problems = [
      ...ledger.problems,
      ...atRest.problems,
      ...drain.problems,
      ...slow.map((ms) => `ready, or drained, only after ${Math.round(ms)} ms`),
    ];
    if (problems.length === 0) await service.remove();
    else problems.push(`the data directory is kept: ${dataDir}`);
    return {
      target: options.target,
      seed,
      kills: killer.kills,
      killed: killer.killed,
      accepted: ledger.acceptedRequests,
      records: ledger.acceptedRecords,
      repeats: ledger.repeats,
      refusals: ledger.refusals,
      ...atRest.findings,
      lost: Math.max(lostOnTheWay, atRest.findings.lost),
      readyMs: killer.readyMs,
      longestAnswerMs: ledger.longestAnswerMs,
      longestLagMs: atRest.lagMs,
      drainMs: drain.ms,
      durationMs: performance.now() - startedAt,
      loadAverage: loadavg()[0] ?? Number.NaN,
      cores: availableParallelism(),
      problems,
    };
  } finally {
    senders?.abandon();
    await service.remove({ keepData: true });
  }
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
    await untilApplied(pool, APPLIED_MS_MAX);
    const findings = await checkLog(pool, ledger);
    const problems = [
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
