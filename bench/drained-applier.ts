import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Applier } from "../src/apply/applier.ts";
import { PropertyDirectory } from "../src/apply/backlog.ts";
import { applySessions } from "../src/apply/postgres-apply-session.ts";
import { AcceptLog, PropertyRegister } from "../src/ingest/log/accept-log.ts";
import { submissionOf } from "../test/support/apply-bench.ts";
import { createTestDatabase, type TestDatabase } from "../test/support/database.ts";

/** Records of one resource that are accepted as one batch. */
export interface Batch {
  readonly resource: "i" | "r";
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** What applying took, microseconds a record: CPU of this process and of the server's that applies, and time by the clock. */
export interface Cost {
  readonly node: number;
  readonly postgres: number;
  readonly clock: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The CPU of a process in microseconds: what /proc counts in hundredths of a second is too coarse. */
function microsecondsOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]) / 1_000;
}

/** One applier on a database of its own, in this process: what it is given to apply is accepted first, while it stands still. */
export class DrainedApplier {
  readonly #database: TestDatabase;
  readonly #log: AcceptLog;
  readonly #properties: PropertyRegister;
  readonly #applier: Applier;
  /** The process of the server that applies. */
  readonly #backend: Promise<number>;
  #isFilling = true;
  /** Records that are left to be applied. */
  #left = 0;
  #drained: () => void = () => undefined;

  private constructor(database: TestDatabase, log: AcceptLog) {
    this.#database = database;
    this.#log = log;
    this.#properties = new PropertyRegister(database.pool, 100_000);
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#backend = promise;
    this.#applier = new Applier({
      owner: "drained-applier",
      pollMs: 20,
      blocked: () => (this.#isFilling ? "filling" : undefined),
      events: {
        failed: (error) => console.error(error),
        applied: (counts) => {
          for (const count of Object.values(counts)) this.#left -= count;
          if (this.#left <= 0) this.#drained();
        },
      },
      openSession: applySessions({
        clientConfig: database.clientConfig,
        pool: database.pool,
        properties: new PropertyDirectory(database.pool),
        connected: resolve,
      }),
    });
    this.#applier.start();
  }

  static async open(): Promise<DrainedApplier> {
    const database = await createTestDatabase();
    return new DrainedApplier(database, await AcceptLog.open(database.clientConfig, 1, {}));
  }

  /** Accepts batches in their order, and then has all of them applied. */
  async drain(batches: readonly Batch[]): Promise<Cost> {
    this.#isFilling = true;
    let count = 0;
    for (const { resource, records } of batches) {
      const submission = submissionOf(records, { resource });
      await this.#properties.register(submission.clientId, submission.records);
      await this.#log.append(submission);
      count += records.length;
    }
    // What making the records left behind is not to be collected on the applier's account.
    collectGarbage();
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.#left = count;
    const pid = await this.#backend;
    const [startedAt, cpu, backend] = [performance.now(), process.cpuUsage(), microsecondsOf(pid)];
    this.#isFilling = false;
    this.#applier.rebalanceNow();
    await drained;
    const clock = ((performance.now() - startedAt) * 1_000) / count;
    const { user, system } = process.cpuUsage(cpu);
    return { node: (user + system) / count, postgres: (microsecondsOf(pid) - backend) / count, clock };
  }

  async close(): Promise<void> {
    await this.#applier.stop();
    await this.#log.close();
    await this.#database.drop();
  }
}
