import { type LaidOut, layOutRelease } from "../../scripts/release/lay-out-release.ts";
import { createEmptyTestDatabase, type TestDatabase } from "../support/database.ts";
import { failedRequests } from "./failed-requests.ts";
import { seconds } from "./figures.ts";
import { withLoadedNodes } from "./loaded-nodes.ts";
import { type ManyNodesReport, prepareNodes, READY_MS_MAX, reportAtRest, untilShared } from "./many-nodes.ts";
import type { ServiceProcess } from "./service-process.ts";

/** What is asked of a rolling upgrade. */
export interface RollingOptions {
  readonly nodes: number;
  readonly seed: number;
  readonly senders: number;
  /** How long two versions, or one, run side by side between two changes. */
  readonly restMs: number;
  readonly enough?: AbortSignal;
  readonly progress?: (line: string) => void;
}

/** What it came to. */
export interface RollingReport extends ManyNodesReport {
  /** The version before, by which it began. */
  readonly before: string;
  /** Nodes that were changed to the other version, in all. */
  readonly changes: number;
}

interface QueryContext extends Omit<RollingOptions, "nodes"> {
  readonly database: TestDatabase;
  readonly nodes: readonly ServiceProcess[];
}

/** One node after another is stopped in order and started as another version, while all others go on. */
async function roll(
  queryContext: QueryContext,
  checkout: string | undefined,
  version: string,
): Promise<number> {
  for (const [at, node] of queryContext.nodes.entries()) {
    if (queryContext.enough?.aborted === true) return at;
    const startedAt = performance.now();
    const code = await node.end("SIGTERM");
    if (code !== 0) throw new Error(`SIGTERM ended node ${at + 1} with ${code}.`);
    node.changeTo(checkout);
    node.start();
    await node.untilReady(READY_MS_MAX);
    await untilShared(queryContext.database.pool, queryContext.nodes.length);
    queryContext.progress?.(
      `node ${at + 1} is version ${version}, after ${seconds(performance.now() - startedAt)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, queryContext.restMs));
  }
  return queryContext.nodes.length;
}

/** The state as the log gives it, by a command of this version beside the nodes. */
async function replayProblems(node: ServiceProcess): Promise<string[]> {
  try {
    const { equal } = JSON.parse(await node.command("replay", "--json")) as { equal: boolean };
    return equal ? [] : ["a replay gives another state"];
  } catch (error) {
    return [`a replay gives another state, or none: ${String(error)}`];
  }
}

/**
 * Nodes of the release before take load; they are changed to this version one after another, back to the release, and to this
 * version again. Nothing but 202 may be answered meanwhile, and what was answered is checked as in every campaign.
 */
export async function runRollingUpgrade(options: RollingOptions): Promise<RollingReport> {
  const startedAt = performance.now();
  const before = await layOutRelease();
  const database = await createEmptyTestDatabase();
  const nodes = await prepareNodes(options.nodes, database.url, { checkout: before.directory });
  const queryContext = { ...options, database, nodes };
  for (const node of nodes) node.start();
  try {
    return await withLoadedNodes(database, nodes, options, async (loaded) => {
      const { first, ledger, token } = loaded;
      const senders = loaded.startSenders();
      await untilShared(database.pool, options.nodes);
      const changes = await thereAndBack(queryContext, before);
      await senders.stop();
      const report = await reportAtRest(database, nodes, token, ledger, { startedAt, lostOnTheWay: 0 });
      const problems = [...failedRequests(ledger), ...(await replayProblems(first))];
      return { ...report, before: before.version, changes, problems: [...report.problems, ...problems] };
    });
  } finally {
    await before.remove();
  }
}

/** To this version, back, and to this version again; answers how many nodes were changed. */
async function thereAndBack(queryContext: QueryContext, before: LaidOut): Promise<number> {
  return (
    (await roll(queryContext, undefined, "this one")) +
    (await roll(queryContext, before.directory, before.version)) +
    (await roll(queryContext, undefined, "this one again"))
  );
}
