import { BUCKET_COUNT } from "../../src/ingest/log/part-name.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { Checker } from "./checker.ts";
import { Conditions, STREAM } from "./conditions.ts";
import { SimulatedDatabase } from "./database.ts";
import { drawFaults, FaultInjector, isOfNode } from "./faults.ts";
import { type Host, SimulatedNode } from "./node.ts";
import type { PlantName } from "./plants.ts";
import { Scheduler } from "./scheduler.ts";
import { Senders } from "./senders.ts";
import { Trace } from "./trace.ts";

/**
 * How long after the last fault everything has to be answered and applied: a node whose server gave it up while it
 * waited for an answer hears nothing before its statement times out (65 s), and tries again within 5 s.
 */
const DRAIN_MS_MAX = 90_000;
/** A node that hangs is silent for 3 s, and each of the others looks every 1.2 s at the latest (src/apply/rebalance.ts). */
const TAKEOVER_MS_MAX = 5_000;
/** Between two looks at whether everything is done. */
const LOOK_MS = 100;
/** A node that nothing hinders has stopped by then. */
const STOP_MS_MAX = 3_000;
/** How long a supervisor waits before it starts a node again that could not start or ended by itself. */
const RESTART_MS = 500;

/** What became of one seed. */
export interface Verdict {
  readonly seed: number;
  /** What was wrong first; undefined when nothing was. */
  readonly failure: string | undefined;
  /** The same for every run of a seed. */
  readonly hash: string;
  readonly events: number;
  /** Batches in the log, in parts, and how long after the last fault everything was done (ms). */
  readonly stored: number;
  readonly drainMs: number;
  /** Where one node of several failed, once, and nothing else: the longest that a part waited to be applied (ms). */
  readonly takeoverMs: number;
  /** What happened, where that was asked for. */
  readonly lines: readonly string[];
}

export interface RunOptions {
  readonly plants?: ReadonlySet<PlantName>;
  readonly isTraced?: boolean;
}

/** Runs the world of a seed to its end. */
export async function runSeed(seed: number, options: RunOptions = {}): Promise<Verdict> {
  return new World(seed, options).run();
}

class World {
  readonly #seed: number;
  readonly #scheduler = new Scheduler();
  readonly #checker = new Checker();
  readonly #trace: Trace;
  readonly #conditions: Conditions;
  readonly #database: SimulatedDatabase;
  readonly #hosts: readonly Host[];
  readonly #senders: Senders;
  readonly #ids: SeededRandom;
  #faultsOverAt = 0;
  #drainedAt = 0;
  #isOver = false;
  #isEnding = false;
  /** Nothing fails but one node of several, once. */
  #isTakeover = false;

  constructor(seed: number, { plants = new Set(), isTraced = false }: RunOptions) {
    this.#seed = seed;
    this.#trace = new Trace(isTraced, () => this.#scheduler.now);
    this.#conditions = new Conditions(seed, plants);
    const buckets = this.#conditions.properties.map(({ bucket }) => bucket);
    this.#database = new SimulatedDatabase(
      this.#scheduler,
      this.#trace,
      this.#conditions,
      this.#checker,
      buckets,
    );
    this.#ids = SeededRandom.stream(seed, STREAM.ids);
    const road = () => ({ isHoled: false, latencyMs: () => this.#conditions.latencyMs() });
    this.#hosts = Array.from({ length: this.#conditions.hosts }, (_, at) => ({
      name: `n${at + 1}`,
      toDatabase: road(),
      fromDatabase: road(),
      connections: [],
      answeredUpTo: "",
      node: undefined,
      starts: 0,
      restartMs: RESTART_MS,
    }));
    this.#senders = new Senders(this.#database, this.#hosts, SeededRandom.stream(seed, STREAM.senders));
  }

  async run(): Promise<Verdict> {
    for (const host of this.#hosts) this.#scheduler.after(0, () => this.#startNode(host));
    this.#senders.start();
    const injector = new FaultInjector(this.#database, this.#hosts);
    const { hosts, busyMs } = this.#conditions;
    const faults = drawFaults(SeededRandom.stream(this.#seed, STREAM.faults), hosts, busyMs);
    const [only] = faults;
    this.#isTakeover = this.#conditions.isCalm && hosts > 1 && faults.length === 1 && isOfNode(only);
    this.#faultsOverAt = Math.max(busyMs, injector.plan(faults));
    this.#scheduler.after(this.#faultsOverAt, () => {
      this.#conditions.areFaultsOver = true;
      this.#trace.add("fault", "no more");
      this.#look();
    });
    await this.#scheduler.run(() => this.#isOver || this.#checker.failure !== undefined);
    return {
      seed: this.#seed,
      failure: this.#checker.failure,
      hash: this.#trace.hash,
      events: this.#scheduler.events,
      stored: this.#checker.stored,
      drainMs: this.#drainedAt - this.#faultsOverAt,
      takeoverMs: this.#isTakeover ? this.#checker.waitedMsMax : 0,
      lines: this.#trace.lines ?? [],
    };
  }

  #startNode(host: Host): void {
    if (this.#isEnding) return;
    host.restartMs = RESTART_MS;
    const node = new SimulatedNode(host, this.#database, this.#ids, () => {
      this.#scheduler.after(host.restartMs, () => this.#startNode(host));
    });
    host.node = node;
    this.#trace.add(node.name, "starts");
    node.deliver(() => void node.start());
  }

  /** Looks now and then whether all is done; then stops the nodes, which must leave nothing. */
  #look(): void {
    const undone = this.#undone();
    if (undone === undefined) {
      this.#stopAll();
      return;
    }
    if (this.#scheduler.now > this.#faultsOverAt + DRAIN_MS_MAX) {
      this.#checker.fail(`${DRAIN_MS_MAX / 1000} s after the last fault ${undone}`);
      return;
    }
    this.#scheduler.after(LOOK_MS, () => this.#look());
  }

  #undone(): string | undefined {
    const { store, backends } = this.#database;
    const { logWriters, appliers } = this.#conditions;
    for (const { name, node } of this.#hosts) if (node?.isReady !== true) return `${name} is not ready`;
    if (this.#senders.pending > 0) return `${this.#senders.pending} clients still have no answer`;
    const { stored, applied } = this.#checker;
    const held = new Map<number, number>();
    if (applied < stored) return `${stored - applied} of ${stored} parts are not applied`;
    for (const [bucket, { pid, startedAt, owner }] of store.leases) {
      if (!this.#database.isRunning(pid, startedAt)) return `bucket ${bucket} is ${owner}'s, who is gone`;
      held.set(pid, (held.get(pid) ?? 0) + 1);
    }
    // Planted owners are to be found by what they do, not by how many buckets they have.
    if (this.#conditions.plants.has("two-owners")) held.clear();
    const fair = Math.floor(BUCKET_COUNT / (this.#hosts.length * appliers));
    for (const [pid, count] of held) {
      if (count < fair || count > fair + 1) return `apply#${pid} has ${count} buckets`;
    }
    for (const { logWriterId, pid, startedAt } of store.unretired) {
      if (!this.#database.isRunning(pid, startedAt))
        return `log writer ${logWriterId} is not retired, though its backend is gone`;
    }
    for (const backend of backends.values()) {
      if (backend.statement !== undefined) return `${backend.name} is still at ${backend.statement}`;
      if (backend.peer.isGone) return `${backend.name} has not noticed that its node is gone`;
    }
    for (const { name, node } of this.#hosts) {
      for (const connection of node?.connections ?? [])
        if (connection.isForsaken) return `${name} has not noticed that a session of it is gone`;
    }
    const sessions = this.#hosts.length * (logWriters + appliers);
    if (backends.size > sessions) return `there are ${backends.size} sessions instead of ${sessions}`;
    return undefined;
  }

  #stopAll(): void {
    this.#drainedAt = this.#scheduler.now;
    const { waitedMsMax } = this.#checker;
    if (this.#isTakeover && waitedMsMax > TAKEOVER_MS_MAX)
      this.#checker.fail(`a part waited for ${Math.round(waitedMsMax)} ms, though only one node failed`);
    this.#isEnding = true;
    this.#trace.add("world", "is done");
    for (const { node } of this.#hosts) node?.deliver(() => void node.stop());
    this.#scheduler.after(STOP_MS_MAX, () => {
      for (const { name, node } of this.#hosts) {
        if (node?.isDead !== true)
          this.#checker.fail(`${name} has not stopped after ${STOP_MS_MAX / 1000} s`);
      }
      const left = [...this.#database.backends.values()].map(({ name }) => name);
      if (left.length > 0) this.#checker.fail(`sessions are left: ${left.join(", ")}`);
      this.#isOver = true;
    });
  }
}
