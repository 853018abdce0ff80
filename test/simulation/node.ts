import { Applier } from "../../src/apply/applier.ts";
import type { Acceptance } from "../../src/ingest/log/accept-log.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import type { Time } from "../../src/platform/runtime/time.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import { type Batch, resolutionOf, submissionOf } from "./batch.ts";
import type { Connection } from "./connection.ts";
import type { SimulatedDatabase } from "./database.ts";
import { simulatedApplySessions, simulatedLogWriterSessions } from "./sessions.ts";
import type { Road } from "./wire.ts";

/** How long a node that was asked to stop lets requests be answered, and takes in all (src/service/service.ts). */
const DRAIN_REQUESTS_MS_MAX = 6_000;
const STOP_MS_MAX = 10_000;
/** How long hints take from the thread that accepts to the one that applies. */
const HINT_MS = 0.05;

/** A machine: nodes come and go on it, its roads to the database stay. */
export interface Host {
  readonly name: string;
  readonly toDatabase: Road & { isHoled: boolean };
  readonly fromDatabase: Road & { isHoled: boolean };
  /** Of all nodes that ran here, as a server may still know them. */
  connections: Connection[];
  /** The greatest id that a node here has answered. */
  answeredUpTo: string;
  node: SimulatedNode | undefined;
  starts: number;
  /** How long after the end of its node it is started again (ms). */
  restartMs: number;
}

interface Request {
  readonly done: (acceptance: Pick<Acceptance, "requestId" | "repeated">) => void;
  readonly failed: (error: unknown) => void;
}

/** One run of the service on a host: the real accept log and appliers on simulated ground. */
export class SimulatedNode {
  readonly host: Host;
  readonly database: SimulatedDatabase;
  readonly name: string;
  readonly connections = new Set<Connection>();
  readonly time: Time;
  isDead = false;
  isPaused = false;
  isStopping = false;
  readonly #random: SeededRandom;
  readonly #clockOffsetMs: number;
  readonly #held: (() => void)[] = [];
  readonly #owned = new Map<number, ReadonlySet<number>>();
  readonly #requests = new Set<Request>();
  readonly #died: () => void;
  #log: AcceptLog | undefined;
  #appliers: Applier[] = [];
  /** Which of them are idle: src/platform/runtime/shared-memory.ts */
  readonly #idle = new Set<number>();

  /** `died` is called once, when the process is gone, for whatever reason. */
  constructor(host: Host, database: SimulatedDatabase, random: SeededRandom, died: () => void) {
    this.host = host;
    this.database = database;
    host.starts += 1;
    this.name = `${host.name}.${host.starts}`;
    this.#random = random;
    this.#died = died;
    this.#clockOffsetMs = random.between(0, 1_000_000);
    const { scheduler, conditions } = database;
    this.time = {
      now: () => scheduler.now + this.#clockOffsetMs,
      after: (ms, call) => {
        const planned = scheduler.after(ms, () => this.deliver(() => planned.call !== undefined && call()));
        return () => {
          planned.call = undefined;
        };
      },
      nextTurn: (call) => {
        scheduler.after(conditions.turnMs(), () => this.deliver(call));
      },
      chance: () => random.next() / 4_294_967_296,
    };
  }

  /** Whether it would say that it is ready. */
  get isReady(): boolean {
    return this.#log?.ready === true && !this.isStopping;
  }

  /** What happens to the process: later while it is paused, never once it is dead. */
  deliver(call: () => void): void {
    if (this.isDead) return;
    if (this.isPaused) return void this.#held.push(call);
    this.database.scheduler.settle();
    call();
  }

  async start(): Promise<void> {
    const { logWriters, appliers, pollMs, largeShare } = this.database.conditions;
    const ground = { openSession: simulatedLogWriterSessions(this), time: this.time };
    const stamp = new RequestIdStamp(undefined, {
      now: this.time.now,
      randomBytes8: () => this.#randomBytes8(),
    });
    const failed = (error: unknown): void => this.#failed(error);
    try {
      this.#log = await AcceptLog.openOn(
        ground,
        logWriters,
        { appended: (to) => this.#hint(to), failed },
        stamp,
      );
    } catch (error) {
      this.#failed(error);
      return this.exit();
    }
    this.#appliers = Array.from({ length: appliers }, (_, writer) => {
      return new Applier({
        openSession: simulatedApplySessions(this),
        // What a part holds is left out here: by its id, as many are large as the world of the seed says.
        isLarge: ({ requestId }) => Number.parseInt(requestId.slice(-4, -2), 16) < 256 * largeShare,
        time: this.time,
        owner: `${this.name}/${writer}`,
        pollMs,
        events: { failed, owns: (buckets) => this.#owned.set(writer, new Set(buckets)) },
        siblings: {
          setIdle: (isIdle) => void (isIdle ? this.#idle.add(writer) : this.#idle.delete(writer)),
          claimIdle: () => {
            const idle = [...this.#idle].find((other) => other !== writer);
            if (idle === undefined || !this.#idle.delete(idle)) return undefined;
            return () => {
              this.database.trace.add(this.name, `passes buckets on to ${idle}`);
              this.#appliers[idle]?.offered();
            };
          },
        },
      });
    });
    for (const applier of this.#appliers) applier.start();
    this.database.trace.add(this.name, "is ready");
  }

  /** A request that has arrived. */
  receive(batch: Batch, attempt: number, request: Request): void {
    const log = this.#log;
    if (log === undefined || this.isStopping) {
      request.failed(new Error("connect ECONNREFUSED"));
      return;
    }
    this.#requests.add(request);
    const accepted =
      batch.kind === "resolution"
        ? log
            .appendResolution(resolutionOf(batch, attempt))
            .then((requestId) => ({ requestId, repeated: false }))
        : log.append(submissionOf(batch, attempt));
    accepted.then(
      (acceptance) => {
        if (this.#requests.delete(request)) request.done(acceptance);
      },
      (error: unknown) => {
        if (this.#requests.delete(request)) request.failed(error);
      },
    );
  }

  /** SIGTERM: answers what is in flight, applies what is running, closes everything. */
  async stop(): Promise<void> {
    if (this.isStopping || this.isDead) return;
    this.isStopping = true;
    this.time.after(STOP_MS_MAX, () => this.exit());
    const until = this.time.now() + DRAIN_REQUESTS_MS_MAX;
    while (this.#requests.size > 0 && this.time.now() < until)
      await new Promise<void>((resolve) => this.time.after(5, resolve));
    await this.#log?.close();
    await Promise.all(this.#appliers.map((applier) => applier.stop()));
    this.exit();
  }

  /** The process is gone; its kernel closes what it had open. */
  exit(): void {
    this.#die((connection) => connection.abandon());
  }

  /** The machine is gone: nobody closes anything. */
  losePower(): void {
    this.#die((connection) => connection.vanish());
  }

  /** SIGSTOP, and SIGCONT: what arrived and what fell due in between is met at once then. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (const call of this.#held.splice(0)) this.database.scheduler.after(0, () => this.deliver(call));
  }

  #die(leave: (connection: Connection) => void): void {
    if (this.isDead) return;
    this.isDead = true;
    this.database.trace.add(this.name, "is gone");
    for (const connection of [...this.connections]) leave(connection);
    const requests = [...this.#requests];
    this.#requests.clear();
    for (const { failed } of requests) failed(new Error("socket hang up"));
    this.#died();
  }

  #hint(buckets: ReadonlySet<number>): void {
    this.database.scheduler.after(HINT_MS, () =>
      this.deliver(() => {
        // As SharedHints has it: only the one that has a bucket is notified.
        for (const [writer, owned] of this.#owned)
          this.#appliers[writer]?.wake([...buckets].filter((bucket) => owned.has(bucket)));
      }),
    );
  }

  #failed(error: unknown): void {
    this.database.trace.add(this.name, "hears", error instanceof Error ? error.message : String(error));
  }

  #randomBytes8(): Buffer {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeUInt32LE(this.#random.next(), 0);
    bytes.writeUInt32LE(this.#random.next(), 4);
    return bytes;
  }
}
