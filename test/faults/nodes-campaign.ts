import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { createTestDatabase } from "../support/database.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { failedRequests } from "./failed-requests.ts";
import { seconds } from "./figures.ts";
import { KeyRotations } from "./key-rotations.ts";
import { withLoadedNodes } from "./loaded-nodes.ts";
import {
  breakAtIntervals,
  type ManyNodesOptions,
  type ManyNodesReport,
  READY_MS_MAX,
  reportAtRest,
  startNodes,
  TAKEOVER_MS_PROMISED,
  untilShared,
} from "./many-nodes.ts";
import type { ServiceProcess } from "./service-process.ts";
import { type Takeover, watchTakeover } from "./takeover.ts";

export const NODE_FAULTS = ["kill", "stop", "restart"] as const;
/** `kill -9`; a process that is stopped (SIGSTOP) for a while and goes on; an orderly restart. */
export type NodeFault = (typeof NODE_FAULTS)[number];

/** What a campaign came to. Times are in milliseconds. */
export interface NodesReport extends ManyNodesReport {
  readonly faults: Readonly<Record<NodeFault, number>>;
  readonly takeovers: readonly (Takeover & { readonly fault: NodeFault })[];
  readonly readyMs: readonly number[];
  /** Of the signing key, beside restarts in order. */
  readonly rotations: number;
}

/** Each rotation of the signing key takes a token, of which a client may take six at once. */
const ENVIRONMENT = { TOKEN_BURST: "1000000" };
const READY_MS_PROMISED = 10_000;
/** Longer than it takes to be taken over from. */
const STOPPED_MS = { least: 6_000, most: 10_000 } as const;

/** The nodes of one campaign, and what is done to them. */
class Faults {
  readonly counts: Record<NodeFault, number> = { kill: 0, stop: 0, restart: 0 };
  readonly takeovers: (Takeover & { readonly fault: NodeFault })[] = [];
  readonly readyMs: number[] = [];
  readonly #nodes: readonly ServiceProcess[];
  readonly #pool: pg.Pool;
  readonly #options: ManyNodesOptions<NodeFault>;
  readonly #random: SeededRandom;

  constructor(nodes: readonly ServiceProcess[], pool: pg.Pool, options: ManyNodesOptions<NodeFault>) {
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
    this.#options.progress?.(
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

/** Runs nodes under load, does something to one of them at every interval, then checks everything that was answered. */
export async function runNodes(options: ManyNodesOptions<NodeFault>): Promise<NodesReport> {
  const startedAt = performance.now();
  const database = await createTestDatabase();
  const nodes = await startNodes(options.nodes, database.url, ENVIRONMENT, options.plant);
  return await withLoadedNodes(database, nodes, options, async (loaded) => {
    const { ledger, source, client, token } = loaded;
    const senders = loaded.startSenders();
    await untilShared(database.pool, options.nodes);
    const faults = new Faults(nodes, database.pool, options);
    const rotations = new KeyRotations(nodes, ledger, source, () => client);
    const lostOnTheWay = await breakAtIntervals(options, database, ledger, async () => {
      const rotated = options.only === "restart" ? rotations.one() : undefined;
      await faults.one();
      await rotated;
      await untilShared(database.pool, options.nodes);
    });
    await senders.stop();
    const report = await reportAtRest(database, nodes, token, ledger, { startedAt, lostOnTheWay });
    return {
      ...report,
      faults: faults.counts,
      takeovers: faults.takeovers,
      readyMs: faults.readyMs,
      rotations: rotations.count,
      problems: [
        ...report.problems,
        ...promises(faults),
        ...(options.only === "restart" ? failedRequests(ledger) : []),
      ],
    };
  });
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
