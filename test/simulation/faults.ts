import type { SeededRandom } from "../workload/seeded-random.ts";
import { swapUnderLeases } from "./apply-statements.ts";
import { SERVER_PATIENCE_MS } from "./connection.ts";
import type { SimulatedDatabase } from "./database.ts";
import type { Host } from "./node.ts";

/** What can happen to a world, and how long it lasts at most (ms). */
const KINDS = {
  "node killed": 4_000,
  "node stopped": 12_000,
  "power lost": 4_000,
  "node paused": 45_000,
  "backend ended": 0,
  "postgres crashes": 5_000,
  "connection cut": 0,
  "road closed": 45_000,
  "answers held": 45_000,
  "disk stalls": 5_000,
  "clock stepped": 0,
  "partitions gone": 0,
  "replay swaps": 3_000,
} as const;

type FaultKind = keyof typeof KINDS;

const NODE_KINDS: ReadonlySet<FaultKind> = new Set([
  "node killed",
  "node stopped",
  "power lost",
  "node paused",
]);

export interface Fault {
  readonly kind: FaultKind;
  readonly at: number;
  readonly forMs: number;
  readonly host: number;
  readonly draw: number;
}

/** Whether it is one node's fault, which the others have to make up for. */
export function isOfNode(fault: Fault | undefined): boolean {
  return fault !== undefined && NODE_KINDS.has(fault.kind);
}

/** The faults of a seed: a few kinds, each a few times, none at all in some seeds. */
export function drawFaults(random: SeededRandom, hosts: number, busyMs: number): Fault[] {
  const names = Object.keys(KINDS) as FaultKind[];
  const kinds = random.shuffle([...names]).slice(0, random.between(0, 4));
  return Array.from({ length: kinds.length === 0 ? 0 : random.between(1, 8) }, () => {
    const kind = random.pick(kinds);
    const mostMs = KINDS[kind];
    return {
      kind,
      at: random.between(0, busyMs * 1_000) / 1_000,
      // Short ones more often than long ones, which cost more to simulate.
      forMs: mostMs * random.pick([0.01, 0.01, 0.1, 0.1, 1]) * (random.between(1, 100) / 100),
      host: random.between(0, hosts - 1),
      draw: random.next(),
    };
  }).sort((left, right) => left.at - right.at);
}

/** Makes faults happen to the machines of a world. */
export class FaultInjector {
  readonly #database: SimulatedDatabase;
  readonly #hosts: readonly Host[];
  #arePartitionsGone = false;

  constructor(database: SimulatedDatabase, hosts: readonly Host[]) {
    this.#database = database;
    this.#hosts = hosts;
  }

  /** Plans them all; answers when the last one is over. */
  plan(faults: readonly Fault[]): number {
    let overAt = 0;
    for (const fault of faults) {
      this.#database.scheduler.after(fault.at, () => this.#happen(fault));
      overAt = Math.max(overAt, fault.at + fault.forMs);
    }
    return overAt;
  }

  #happen(fault: Fault): void {
    const database = this.#database;
    const host = this.#hosts[fault.host] as Host;
    database.trace.add("fault", fault.kind, `${host.name} for ${Math.round(fault.forMs)} ms`);
    switch (fault.kind) {
      case "node killed":
        this.#end(host, fault, () => host.node?.exit());
        return;
      case "power lost":
        this.#end(host, fault, () => host.node?.losePower());
        return;
      case "node stopped":
        this.#end(host, fault, () => host.node?.deliver(() => void host.node?.stop()));
        return;
      case "node paused":
        this.#pause(host, fault);
        return;
      case "backend ended":
        this.#pickOf([...database.backends.values()], fault)?.end();
        return;
      case "connection cut":
        this.#pickOf([...(host.node?.connections ?? [])], fault)?.cut();
        return;
      case "postgres crashes":
        database.isUp ? database.crash(fault.forMs) : undefined;
        return;
      case "road closed":
      case "answers held":
        this.#closeRoad(host, fault);
        return;
      case "disk stalls":
        database.stall(fault.forMs);
        return;
      case "clock stepped":
        database.clockOffsetMs += ((fault.draw % 20_001) - 10_000) * (fault.draw % 7 === 0 ? 1 : 0.01);
        return;
      case "partitions gone":
        // Once: they are made for weeks, and nobody takes them away.
        if (!this.#arePartitionsGone) database.hasPartitions = false;
        this.#arePartitionsGone = true;
        return;
      case "replay swaps":
        this.#swap(fault);
    }
  }

  /** A session of its own that ends every lease while it holds all of them. */
  #swap({ forMs }: Fault): void {
    const database = this.#database;
    if (!database.isUp) return;
    const replay = database.start("apply", 60_000, {
      isGone: false,
      answer: () => replay.end(),
      refuse: () => replay.end(),
      closed: () => undefined,
    });
    replay.receive("swap", swapUnderLeases(database, forMs));
  }

  #pickOf<Item>(items: readonly Item[], { draw }: Fault): Item | undefined {
    return items[draw % Math.max(1, items.length)];
  }

  /** However it ends, a supervisor starts it again a while later. */
  #end(host: Host, { forMs }: Fault, end: () => void): void {
    if (host.node === undefined || host.node.isDead) return;
    host.restartMs = forMs;
    end();
  }

  #pause(host: Host, { forMs }: Fault): void {
    const { node } = host;
    if (node === undefined || node.isPaused) return;
    node.pause();
    this.#database.scheduler.after(forMs, () => node.resume());
  }

  /** TCP sends again what was under way when the road opens, unless the server has given up by then. */
  #closeRoad(host: Host, { kind, forMs }: Fault): void {
    const { scheduler, trace } = this.#database;
    if (host.toDatabase.isHoled || host.fromDatabase.isHoled) return;
    host.fromDatabase.isHoled = true;
    if (kind === "road closed") host.toDatabase.isHoled = true;
    if (forMs >= SERVER_PATIENCE_MS) {
      scheduler.after(SERVER_PATIENCE_MS, () => {
        for (const connection of host.connections) connection.serverGivesUp();
      });
    }
    scheduler.after(forMs, () => {
      trace.add("fault", "is over:", kind);
      host.toDatabase.isHoled = false;
      host.fromDatabase.isHoled = false;
      for (const connection of host.connections) connection.reopen();
    });
  }
}
