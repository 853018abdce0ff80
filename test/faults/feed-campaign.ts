import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { createTestDatabase } from "../support/database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { type RunFigures, runFigures } from "./campaign-report.ts";
import { checkFeed, type FeedFindings } from "./check-feed.ts";
import { untilApplied } from "./check-sessions.ts";
import { FeedConsumers } from "./feed-consumers.ts";
import { withLoadedNodes } from "./loaded-nodes.ts";
import { READY_MS_MAX, startNodes, untilShared } from "./many-nodes.ts";
import type { PlantedFault } from "./plant.ts";
import type { ServiceProcess } from "./service-process.ts";

export interface FeedCampaignOptions {
  readonly nodes: number;
  /** How often the consumer is killed. */
  readonly kills: number;
  readonly seed: number;
  readonly senders: number;
  /** From one kill of a node to the next; 0: none is killed. */
  readonly nodeKillEveryMs: number;
  readonly plant?: PlantedFault | undefined;
  /** Ends the kills early; what was reported until then is checked all the same. */
  readonly enough?: AbortSignal;
  readonly progress?: (line: string) => void;
}

/** What a campaign came to. */
export interface FeedReport extends FeedFindings, RunFigures {
  readonly kills: number;
  /** Kills before which the consumer had kept something new. */
  readonly fruitful: number;
  readonly nodeKills: number;
}

/** Small answers, so that many are cut off; the wait is what most of the killed have begun. */
export const FEED_QUERY = "limit=200&wait=5";
const APPLIED_MS_MAX = 120_000;

/** Kills one node after another, each once the one before is ready again, until asked to stop. */
class NodeKills {
  count = 0;
  #isOver = false;
  readonly #finished: Promise<void>;

  constructor(nodes: readonly ServiceProcess[], everyMs: number, random: SeededRandom) {
    this.#finished = this.#killAll(nodes, everyMs, random);
    // The caller that stops it gets the error.
    this.#finished.catch(() => undefined);
  }

  async #killAll(nodes: readonly ServiceProcess[], everyMs: number, random: SeededRandom): Promise<void> {
    let next = performance.now() + everyMs;
    while (!this.#isOver) {
      await delay(50);
      if (performance.now() < next) continue;
      const node = random.pick(nodes);
      await node.end("SIGKILL");
      this.count += 1;
      node.start();
      await node.untilReady(READY_MS_MAX);
      next = performance.now() + everyMs;
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#finished;
  }
}

/** Has a consumer of the feed be killed and go on, while nodes write and are killed, too; then checks what it received. */
export async function runFeed(options: FeedCampaignOptions): Promise<FeedReport> {
  const startedAt = performance.now();
  const { seed } = options;
  const database = await createTestDatabase();
  const directory = await temporaryDirectory("feed");
  const nodes = await startNodes(options.nodes, database.url, {}, options.plant);
  const addresses = nodes.map(({ address }) => address);
  try {
    return await withLoadedNodes(database, nodes, options, async (loaded) => {
      const { ledger, source, token } = loaded;
      await untilShared(database.pool, options.nodes);
      const kept = `${directory}/received.ndjson`;
      const consumers = new FeedConsumers(
        { addresses, token, query: FEED_QUERY, kept },
        SeededRandom.stream(seed, 3),
      );
      const senders = loaded.startSenders({ next: () => source.nextShort() });
      const everyMs = options.nodeKillEveryMs === 0 ? Number.POSITIVE_INFINITY : options.nodeKillEveryMs;
      const nodeKills = new NodeKills(nodes, everyMs, SeededRandom.stream(seed, 4));
      while (consumers.kills < options.kills && options.enough?.aborted !== true) {
        await consumers.killOne();
        if (consumers.kills % 50 === 0)
          options.progress?.(`${consumers.kills} kills, ${ledger.acceptedRecords} records accepted`);
      }
      await nodeKills.stop();
      await senders.stop();
      await untilApplied(database.pool, APPLIED_MS_MAX);
      await consumers.finish();
      const findings = await checkFeed(database.pool, kept);
      return {
        ...findings,
        ...runFigures(ledger, startedAt),
        problems: [...ledger.problems, ...findings.problems],
        kills: consumers.kills,
        fruitful: consumers.fruitful,
        nodeKills: nodeKills.count,
      };
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
