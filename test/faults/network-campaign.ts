import { createTestDatabase } from "../support/database.ts";
import { type DatabaseRoad, openRoad } from "../support/database-road.ts";
import { checkRoads } from "./check-roads.ts";
import { seconds } from "./figures.ts";
import { type LoadedNodes, withLoadedNodes } from "./loaded-nodes.ts";
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
import { breakRoad, type Drawn, drawFaults, type NetworkFault, nameOf } from "./network-faults.ts";
import { untilServes } from "./serves-again.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Takeover } from "./takeover.ts";

/** How the service came through one fault; milliseconds. */
export interface Passed {
  readonly fault: NetworkFault;
  readonly name: string;
  readonly takeover: Takeover | undefined;
  /** From the end of the fault until the node answers 202 again. */
  readonly servesMs: number;
  /** Until every applier has its share again. */
  readonly sharedMs: number;
}

export interface NetworkReport extends ManyNodesReport {
  readonly passed: readonly Passed[];
}

const SERVES_MS_PROMISED = 10_000;
/** A flush on a connection that was forgotten is given up after 20 s (src/ingest/log/log-writer-session.ts). */
const SERVES_LOST_MS_PROMISED = 25_000;

/** Nodes under load, each on a road of its own to the database. */
interface Ground extends LoadedNodes {
  readonly roads: readonly DatabaseRoad[];
}

/** Runs nodes under load, each on a road of its own to the database, and breaks one of the roads at every interval. */
export async function runNetwork(options: ManyNodesOptions<NetworkFault>): Promise<NetworkReport> {
  const database = await createTestDatabase();
  const roads: DatabaseRoad[] = [];
  while (roads.length < options.nodes) roads.push(await openRoad(database.url));
  const urlOf = (node: number) => (roads[node] as DatabaseRoad).url;
  const nodes = await startNodes(options.nodes, urlOf, {}, options.plant);
  try {
    return await withLoadedNodes(database, nodes, options, async (loaded) => {
      const startedAt = performance.now();
      const { ledger, token } = loaded;
      const senders = loaded.startSenders();
      await untilShared(database.pool, options.nodes);
      const passed: Passed[] = [];
      const draw = drawFaults(options.seed, options.nodes, options.only);
      const lostOnTheWay = await breakAtIntervals(options, database, ledger, async () => {
        passed.push(await breakOne(draw(), { ...loaded, roads }, options));
      });
      await senders.stop();
      const ofRoads = await checkRoads(database.pool, nodes, roads);
      const report = await reportAtRest(database, nodes, token, ledger, { startedAt, lostOnTheWay });
      return { ...report, passed, problems: [...report.problems, ...ofRoads, ...passed.flatMap(broken)] };
    });
  } finally {
    for (const road of roads) await road.close();
  }
}

async function breakOne(
  drawn: Drawn,
  { database: { pool }, nodes, roads, ledger, source, token }: Ground,
  { nodes: count, progress }: ManyNodesOptions<NetworkFault>,
): Promise<Passed> {
  const node = nodes[drawn.node] as ServiceProcess;
  const name = `${nameOf(drawn)}, node ${drawn.node + 1}`;
  const takeover = await breakRoad(drawn, node, roads[drawn.node] as DatabaseRoad, pool);
  const endedAt = performance.now();
  await untilServes(node.address, { ledger, token }, source.next(), READY_MS_MAX);
  await node.untilReady(READY_MS_MAX);
  const servesMs = performance.now() - endedAt;
  await untilShared(pool, count);
  const sharedMs = performance.now() - endedAt;
  progress?.(
    `${name}: ${takeover === undefined ? "" : `taken over after ${seconds(takeover.takenMs)}, `}serves again after ${seconds(servesMs)}, all have their share after ${seconds(sharedMs)}`,
  );
  return { fault: drawn.fault, name, takeover, servesMs, sharedMs };
}

function broken({ fault, name, takeover, servesMs }: Passed): string[] {
  const problems: string[] = [];
  const promisedMs = fault === "lost" ? SERVES_LOST_MS_PROMISED : SERVES_MS_PROMISED;
  if (servesMs > promisedMs) problems.push(`${name}: serves again only after ${seconds(servesMs)}`);
  if (takeover !== undefined && Math.max(takeover.takenMs, takeover.firstApplyMs ?? 0) > TAKEOVER_MS_PROMISED)
    problems.push(
      `${name}: taken over after ${seconds(takeover.takenMs)}, first apply after ${seconds(takeover.firstApplyMs ?? Number.NaN)}`,
    );
  return problems;
}
