import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { findHomes, type Home } from "../../src/platform/db/citus/workers.ts";
import { countUnownedBuckets } from "../../src/platform/db/coordination.ts";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import { endSurvivors, killQuietly, serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import { createTestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { Balancer } from "./balancer.ts";
import { type Batch, BatchSource, CLIENT_CODE } from "./batch-source.ts";
import { seconds } from "./figures.ts";
import { Ledger, type SentBatch } from "./ledger.ts";
import {
  breakAtIntervals,
  type ManyNodesOptions,
  type ManyNodesReport,
  prepareNodes,
  READY_MS_MAX,
  reportAtRest,
  startNodes,
} from "./many-nodes.ts";
import { newToken } from "./new-token.ts";
import { Senders } from "./senders.ts";
import type { ServiceProcess } from "./service-process.ts";

export const WORKER_FAULTS = ["kill", "stop", "start"] as const;
/**
 * Every process of a worker killed at once, and started again later; or stopped (SIGSTOP) for a while; or stopped until a further
 * node, which starts meanwhile, is ready.
 */
export type WorkerFault = (typeof WORKER_FAULTS)[number];

/** How batches of one bucket were answered that were first sent in some time: milliseconds, and how many were refused once or more. */
export interface Answers {
  readonly ms: readonly number[];
  readonly refused: number;
}

export interface WorkersReport extends ManyNodesReport {
  readonly faults: Readonly<Record<WorkerFault, number>>;
  /** While all workers are well. */
  readonly calm: Answers;
  /** Of buckets of the other workers while one is away. */
  readonly others: Answers;
  /** How long nodes took to be ready that started while a worker was stopped. */
  readonly readyMs: readonly number[];
}

const AWAY_MS = { least: 5_000, most: 10_000 } as const;
/** When all buckets are applied again, what was refused is still being sent again. */
const AFTERMATH_MS = 2_000;

interface Worker extends Home {
  readonly dataDirectory: string;
  readonly binaries: string;
}

/** A time in which a worker was away, and when all buckets were applied again. */
interface Away {
  readonly worker: Worker;
  readonly fromMs: number;
  readonly toMs: number;
  readonly wellMs: number;
}

async function findWorkers(pool: pg.Pool): Promise<readonly Worker[]> {
  if (!(await isDistributed(pool)))
    throw new Error("TEST_DATABASE_URL names no coordinator of Citus, or it has no workers.");
  const { rows: homes } = await pool.query<Home>(findHomes);
  const { rows: places } = await pool.query<{ worker: string; data: string; bin: string }>(
    `select nodename || ':' || nodeport as worker, result::json ->> 'data' as data, result::json ->> 'bin' as bin
    from run_command_on_workers('select json_build_object(''data'', current_setting(''data_directory''),
      ''bin'', (select setting from pg_config where name = ''BINDIR''))')`,
  );
  return homes.map((home) => {
    const place = places.find(({ worker }) => worker === home.worker);
    if (place === undefined) throw new Error(`The worker ${home.worker} does not answer.`);
    return { ...home, dataDirectory: place.data, binaries: place.bin };
  });
}

async function startWorker({ dataDirectory, binaries }: Worker): Promise<void> {
  const { uid, gid } = await stat(dataDirectory);
  const options = ["-D", dataDirectory, "-l", `${dataDirectory}.log`, "-s", "-w", "start"];
  // Without this user's home, where it would look for certificates.
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" };
  const starting = spawn(join(binaries, "pg_ctl"), options, { uid, gid, env, stdio: "ignore" });
  const [code] = await once(starting, "exit");
  if (code !== 0) throw new Error(`pg_ctl start in ${dataDirectory}: exit code ${code}`);
}

async function signalWorker({ dataDirectory }: Worker, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  for (const pid of await serverProcesses(dataDirectory)) killQuietly(pid, signal);
}

function bucketsOfBatch({ records }: Batch): readonly number[] {
  const codes = records.map((json) => (JSON.parse(json) as { propertyCode: string }).propertyCode);
  return [...new Set(codes.map((code) => bucketOf(CLIENT_CODE, code)))];
}

/** Batches of the source that are wanted; the others are never sent. Those of one bucket go into `bucketOfBatch`, by their number. */
function only(
  source: BatchSource,
  bucketOfBatch: Map<number, number>,
  isWanted: (buckets: readonly number[]) => boolean,
): Pick<BatchSource, "next"> {
  return {
    next: () => {
      for (;;) {
        const batch = source.next();
        const buckets = bucketsOfBatch(batch);
        if (!isWanted(buckets)) continue;
        const [bucket, ...more] = buckets;
        if (bucket !== undefined && more.length === 0) bucketOfBatch.set(batch.number, bucket);
        return batch;
      }
    },
  };
}

class Faults {
  readonly counts: Record<WorkerFault, number> = { kill: 0, stop: 0, start: 0 };
  readonly away: Away[] = [];
  readonly readyMs: number[] = [];
  readonly problems: string[] = [];
  readonly #workers: readonly Worker[];
  readonly #pool: pg.Pool;
  readonly #options: ManyNodesOptions<WorkerFault>;
  readonly #random: SeededRandom;
  /** A node that starts while a worker is stopped, and ends when all is well. */
  readonly #late: ServiceProcess;

  constructor(
    workers: readonly Worker[],
    late: ServiceProcess,
    pool: pg.Pool,
    options: ManyNodesOptions<WorkerFault>,
  ) {
    this.#workers = workers;
    this.#late = late;
    this.#pool = pool;
    this.#options = options;
    this.#random = SeededRandom.stream(options.seed, 2);
  }

  /** One fault from its beginning until every bucket is applied again. */
  async one(): Promise<void> {
    const worker = this.#random.pick(this.#workers);
    const drawn = this.#random.pick(WORKER_FAULTS);
    const awayMs = this.#random.between(AWAY_MS.least, AWAY_MS.most);
    const fault = this.#options.only ?? drawn;
    this.counts[fault] += 1;
    const fromMs = performance.now();
    let toMs: number;
    try {
      if (fault === "kill") await endSurvivors(worker.dataDirectory);
      else await signalWorker(worker, "SIGSTOP");
      await Promise.all([delay(awayMs), ...(fault === "start" ? [this.#startNode()] : [])]);
    } finally {
      toMs = performance.now();
      if (fault === "kill") await startWorker(worker);
      else await signalWorker(worker, "SIGCONT");
    }
    await until(async () => (await countUnownedBuckets(this.#pool).catch(() => 64)) === 0, READY_MS_MAX);
    // As Citus does each minute: what was prepared there when it was hit is to be seen only then.
    await this.#pool.query("select recover_prepared_transactions()");
    this.away.push({ worker, fromMs, toMs, wellMs: performance.now() });
    if (fault === "start" && (await this.#late.end("SIGTERM")) !== 0)
      this.problems.push("The node that had started while a worker was stopped did not end in order.");
    this.#options.progress?.(
      `${fault} ${worker.worker} for ${seconds(toMs - fromMs)}: all buckets are applied again after ${seconds(performance.now() - toMs)}`,
    );
  }

  async #startNode(): Promise<void> {
    const startedAt = performance.now();
    this.#late.start();
    try {
      await this.#late.untilReady(READY_MS_MAX);
      this.readyMs.push(performance.now() - startedAt);
    } catch (error) {
      this.problems.push(`A node that started while a worker was stopped: ${String(error)}`);
    }
  }

  /** Those of buckets of other workers while one is away, or those while all are well and have been for a while. */
  answers(ledger: Ledger, bucketOfBatch: ReadonlyMap<number, number>, isCalm: boolean): Answers {
    const answeredAt = new Map(ledger.answers.map(({ requestId, answeredAt: at }) => [requestId, at]));
    const isMeant = ({ number, firstSentAt }: SentBatch) => {
      const bucket = bucketOfBatch.get(number);
      if (bucket === undefined) return false;
      const during = this.away.find(
        ({ fromMs, toMs, wellMs }) =>
          firstSentAt >= fromMs && firstSentAt < (isCalm ? wellMs + AFTERMATH_MS : toMs),
      );
      if (isCalm) return during === undefined;
      return during !== undefined && !during.worker.buckets.includes(bucket);
    };
    const meant = [...ledger.batches.values()].filter(isMeant);
    const ms = meant.flatMap(({ requestId, firstSentAt }) => {
      const at = requestId === undefined ? undefined : answeredAt.get(requestId);
      return at === undefined ? [] : [at - firstSentAt];
    });
    return { ms, refused: meant.filter(({ unanswered }) => unanswered > 0).length };
  }
}

/** Runs nodes on Citus under load, has one worker after another go away for a while, then checks everything that was answered. */
export async function runWorkers(options: ManyNodesOptions<WorkerFault>): Promise<WorkersReport> {
  const startedAt = performance.now();
  const database = await createTestDatabase();
  const nodes: ServiceProcess[] = [];
  const [late] = (await prepareNodes(1, database.url)) as [ServiceProcess];
  const senders: Senders[] = [];
  let balancer: Balancer | undefined;
  try {
    const workers = await findWorkers(database.pool);
    nodes.push(...(await startNodes(options.nodes, database.url, {}, options.plant)));
    for (const node of nodes) await node.untilReady(READY_MS_MAX);
    const [first] = nodes as [ServiceProcess];
    const token = await newToken(first);
    const ledger = new Ledger();
    const routing = new Balancer(nodes.map(({ address }) => address));
    balancer = routing;
    const source = new BatchSource(options.seed);
    const bucketOfBatch = new Map<number, number>();
    // Whoever waits for a worker that is away sends nothing to the others: so each worker has its own senders.
    const ofOne = workers.map(({ buckets }) =>
      only(source, bucketOfBatch, ([bucket = -1, ...more]) => more.length === 0 && buckets.includes(bucket)),
    );
    const ofSeveral = only(source, bucketOfBatch, ({ length }) => length > 1);
    for (const [at, from] of [...ofOne, ofSeveral].entries())
      senders.push(
        new Senders({
          route: () => routing.route(),
          token,
          source: from,
          ledger,
          seed: options.seed + at,
          senders: options.senders,
        }),
      );
    await until(async () => (await countUnownedBuckets(database.pool)) === 0, READY_MS_MAX);
    const faults = new Faults(workers, late, database.pool, options);
    await delay(options.everyMs);
    const lostOnTheWay = await breakAtIntervals(options, database, ledger, () => faults.one());
    const calm = faults.answers(ledger, bucketOfBatch, true);
    const others = faults.answers(ledger, bucketOfBatch, false);
    await Promise.all(senders.map((each) => each.stop()));
    const report = await reportAtRest(database, nodes, token, ledger, { startedAt, lostOnTheWay });
    return {
      ...report,
      faults: faults.counts,
      calm,
      others,
      readyMs: faults.readyMs,
      problems: [
        ...report.problems,
        ...faults.problems,
        ...(others.refused > 0 ? [`${others.refused} batches of other workers were refused`] : []),
      ],
    };
  } catch (error) {
    options.progress?.(String(error));
    throw error;
  } finally {
    for (const each of senders) each.abandon();
    await balancer?.stop();
    for (const node of [...nodes, late]) await node.remove();
    await database.drop();
  }
}
