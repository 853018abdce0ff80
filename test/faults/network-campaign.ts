import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DatabaseRoad, openRoad } from "../support/database-road.ts";
import { Balancer } from "./balancer.ts";
import { BatchSource } from "./batch-source.ts";
import { countLost, type LogFindings } from "./check-log.ts";
import { checkRoads } from "./check-roads.ts";
import { explainStall } from "./explain-stall.ts";
import { Ledger } from "./ledger.ts";
import { breakRoad, drawFaults, type NetworkFault, nameOf } from "./network-faults.ts";
import { newToken } from "./new-token.ts";
import { checkAtRest, READY_MS_MAX, seconds, startNodes, untilShared } from "./nodes-campaign.ts";
import type { PlantedFault } from "./plant.ts";
import { Senders } from "./senders.ts";
import { untilServes } from "./serves-again.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Takeover } from "./takeover.ts";

export interface NetworkOptions {
  readonly nodes: number;
  readonly seed: number;
  /** From one fault to the next. */
  readonly everyMs: number;
  readonly durationMs: number;
  readonly senders: number;
  readonly only?: NetworkFault | undefined;
  readonly plant?: PlantedFault | undefined;
  readonly enough?: AbortSignal;
  readonly told?: (line: string) => void;
}

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

export interface NetworkReport {
  readonly options: NetworkOptions;
  readonly passed: readonly Passed[];
  readonly ledger: Ledger;
  readonly findings: LogFindings;
  readonly longestLagMs: number;
  readonly durationMs: number;
  readonly loadAverage: number;
  readonly cores: number;
  readonly problems: readonly string[];
}

const SERVES_MS_PROMISED = 10_000;
/** A flush on a connection that was forgotten is given up after 20 s (src/accept/postgres-lane-session.ts). */
const SERVES_LOST_MS_PROMISED = 25_000;
const TAKEOVER_MS_PROMISED = 5_000;

/** What a campaign works with. */
interface Ground {
  readonly database: TestDatabase;
  readonly nodes: readonly ServiceProcess[];
  readonly roads: readonly DatabaseRoad[];
  readonly ledger: Ledger;
  readonly source: BatchSource;
  readonly token: string;
}

/** Runs nodes under load, each on a road of its own to the database, and breaks one of the roads at every interval. */
export async function runNetwork(options: NetworkOptions): Promise<NetworkReport> {
  const database = await createTestDatabase();
  const roads: DatabaseRoad[] = [];
  while (roads.length < options.nodes) roads.push(await openRoad(database.url));
  const urlOf = (node: number) => (roads[node] as DatabaseRoad).url;
  const nodes = await startNodes(options.nodes, urlOf, {}, options.plant);
  try {
    for (const node of nodes) await node.untilReady(READY_MS_MAX);
    const token = await newToken(nodes[0] as ServiceProcess);
    const source = new BatchSource(options.seed);
    return await underLoad(options, { database, nodes, roads, ledger: new Ledger(), source, token });
  } catch (error) {
    for (const line of await explainStall(database.pool, nodes)) options.told?.(line);
    throw error;
  } finally {
    for (const node of nodes) await node.remove();
    for (const road of roads) await road.close();
    await database.drop();
  }
}

async function underLoad(options: NetworkOptions, ground: Ground): Promise<NetworkReport> {
  const { database, nodes, roads, ledger, source, token } = ground;
  const startedAt = performance.now();
  const balancer = new Balancer(nodes.map(({ address }) => address));
  const { seed } = options;
  const route = () => balancer.route();
  const senders = new Senders({ route, token, source, ledger, seed, senders: options.senders });
  try {
    await untilShared(database.pool, options.nodes);
    const { passed, lost } = await breakAll(options, ground);
    await senders.stop();
    const ofRoads = await checkRoads(database.pool, nodes, roads);
    const atRest = await checkAtRest(database, nodes, token, ledger);
    const codes = await Promise.all(nodes.map((node) => node.end("SIGTERM")));
    return {
      options,
      passed,
      ledger,
      findings: { ...atRest.findings, lost: Math.max(lost, atRest.findings.lost) },
      longestLagMs: atRest.lagMs,
      durationMs: performance.now() - startedAt,
      loadAverage: loadavg()[0] ?? Number.NaN,
      cores: availableParallelism(),
      problems: [
        ...ledger.problems,
        ...atRest.problems,
        ...ofRoads,
        ...passed.flatMap(broken),
        ...codes.filter((code) => code !== 0).map((code) => `SIGTERM at the end: exit code ${code}`),
      ],
    };
  } finally {
    senders.abandon();
    await balancer.stop();
  }
}

async function breakAll(
  { seed, nodes: count, only, durationMs, everyMs, enough, told }: NetworkOptions,
  { database: { pool }, nodes, roads, ledger, source, token }: Ground,
): Promise<{ passed: Passed[]; lost: number }> {
  const draw = drawFaults(seed, count, only);
  const passed: Passed[] = [];
  const until = performance.now() + durationMs;
  let lost = 0;
  for (let next = performance.now(); next < until && enough?.aborted !== true; next += everyMs) {
    await delay(Math.max(0, next - performance.now()));
    const drawn = draw();
    const node = nodes[drawn.node] as ServiceProcess;
    const name = `${nameOf(drawn)}, node ${drawn.node + 1}`;
    const takeover = await breakRoad(drawn, node, roads[drawn.node] as DatabaseRoad, pool);
    const endedAt = performance.now();
    await untilServes(node.address, { ledger, token }, source.next(), READY_MS_MAX);
    await node.untilReady(READY_MS_MAX);
    const servesMs = performance.now() - endedAt;
    await untilShared(pool, count);
    const sharedMs = performance.now() - endedAt;
    passed.push({ fault: drawn.fault, name, takeover, servesMs, sharedMs });
    told?.(
      `${name}: ${takeover === undefined ? "" : `taken over after ${seconds(takeover.takenMs)}, `}serves again after ${seconds(servesMs)}, all have their share after ${seconds(sharedMs)}`,
    );
    lost += await countLost(pool, ledger, ledger.takeUnchecked());
  }
  return { passed, lost };
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
