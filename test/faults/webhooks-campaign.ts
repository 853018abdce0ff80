import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { createTestDatabase } from "../support/database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { type RunFigures, runFigures } from "./campaign-report.ts";
import { checkFeed, type FeedFindings } from "./check-feed.ts";
import { untilApplied } from "./check-sessions.ts";
import { withLoadedNodes } from "./loaded-nodes.ts";
import { READY_MS_MAX, startNodes } from "./many-nodes.ts";
import type { ServiceProcess } from "./service-process.ts";
import { WebhookLog } from "./webhook-log.ts";

export interface WebhooksCampaignOptions {
  readonly nodes: number;
  /** How often a node is killed. */
  readonly kills: number;
  readonly seed: number;
  readonly senders: number;
  /** Ends the kills early; what was reported until then is checked all the same. */
  readonly enough?: AbortSignal;
  readonly progress?: (line: string) => void;
}

/** What a campaign came to. */
export interface WebhooksReport extends FeedFindings, RunFigures {
  readonly kills: number;
  /** Kills before which a message had come since the one before. */
  readonly fruitful: number;
  readonly requestsDelivered: number;
  readonly requestsMissed: number;
  readonly messages: number;
  readonly repeats: number;
  readonly lateRepeats: number;
}

const APPLIED_MS_MAX = 120_000;
/** A lease of a node that was killed ends with its backend; what it had under way is due at once. */
const DELIVERY_MS_MAX = 120_000;
/** A kill comes so long after messages have come again at most. */
const UP_MS_MAX = 1_500;
const DELIVERING_MS_MAX = 30_000;
const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" } as const;

async function register(address: string, token: string, url: string, event: string): Promise<string> {
  const response = await fetch(`${address}/api/public/v1/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ url, events: [event] }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`No endpoint: ${response.status} ${text}`);
  return (JSON.parse(text) as { secret: string }).secret;
}

/** Waits until nothing remains to be reported: of requests, of changes, and no message waits. */
async function untilDelivered(pool: pg.Pool, log: WebhookLog): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query<{ waiting: number; changes: number }>(
      `select
        (select count(*) from bellhop.applied_part) + (select count(*) from bellhop.webhook_message) as waiting,
        (select sum(next_change - 1) from bellhop.change_counter) as changes`,
    );
    const [{ waiting, changes } = { waiting: 1, changes: 0 }] = rows;
    return Number(waiting) === 0 && log.changes >= Number(changes);
  }, DELIVERY_MS_MAX);
}

/** Kills one node after another while it delivers, each once the one before is ready again and messages come. */
async function killNodes(
  nodes: readonly ServiceProcess[],
  log: WebhookLog,
  random: SeededRandom,
  { kills, enough, progress }: WebhooksCampaignOptions,
): Promise<{ readonly kills: number; readonly fruitful: number }> {
  const done = { kills: 0, fruitful: 0 };
  while (done.kills < kills && enough?.aborted !== true) {
    const before = log.messages;
    await until(() => log.messages > before, DELIVERING_MS_MAX).then(
      () => {
        done.fruitful += 1;
      },
      () => undefined,
    );
    await delay(random.between(0, UP_MS_MAX));
    const node = random.pick(nodes);
    await node.end("SIGKILL");
    done.kills += 1;
    node.start();
    await node.untilReady(READY_MS_MAX);
    if (done.kills % 10 === 0)
      progress?.(`${done.kills} kills, ${log.messages} messages, ${log.repeats} of them came again`);
  }
  return done;
}

/**
 * Has nodes killed (-9) again and again while they deliver webhooks of a client that sends all the while; then holds what its endpoints
 * were reported against what was answered and what the tables have.
 */
export async function runWebhooks(options: WebhooksCampaignOptions): Promise<WebhooksReport> {
  const startedAt = performance.now();
  const { seed } = options;
  const database = await createTestDatabase();
  const directory = await temporaryDirectory("webhooks");
  const kept = `${directory}/received.ndjson`;
  const log = await WebhookLog.start(kept, SeededRandom.stream(seed, 3));
  const nodes = await startNodes(options.nodes, database.url, NETWORKS);
  try {
    return await withLoadedNodes(database, nodes, options, async (loaded) => {
      const { first, ledger, source, token } = loaded;
      for (const event of ["request.applied", "changes.available"]) {
        const path = `/${event}`;
        log.expect(path, await register(first.address, token, `${log.address}${path}`, event));
      }
      const senders = loaded.startSenders({ next: () => source.nextShort() });
      const killed = await killNodes(nodes, log, SeededRandom.stream(seed, 4), options);
      await senders.stop();
      await untilApplied(database.pool, APPLIED_MS_MAX);
      const problems: string[] = [];
      await untilDelivered(database.pool, log).catch((error: Error) => problems.push(error.message));
      const findings = await checkFeed(database.pool, kept);
      const missed = ledger.answers.filter(({ requestId }) => !log.requests.has(requestId));
      problems.push(...missed.map(({ requestId }) => `${requestId} was applied and never reported`));
      return {
        ...findings,
        ...runFigures(ledger, startedAt),
        ...killed,
        problems: [...ledger.problems, ...log.problems, ...problems, ...findings.problems],
        requestsDelivered: log.requests.size,
        requestsMissed: missed.length,
        messages: log.messages,
        repeats: log.repeats,
        lateRepeats: log.lateRepeats,
      };
    });
  } finally {
    await log.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
