import { AcceptLog } from "../../src/accept/accept-log.ts";
import { PropertyRegister } from "../../src/accept/property-register.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import type { StartEngine } from "./apply-engine.ts";
import { contentOf, expectedState, identityOf, linesOf } from "./expected-state.ts";
import {
  countChangesThatEndElsewhere,
  digestAnalytics,
  type LoggedRecord,
  readLog,
  readStateLines,
} from "./observed-state.ts";
import { batchesOf, type OrderedBatch, type OrderedMessage, randomOrder } from "./random-order.ts";
import { SeededRandom } from "./seeded-random.ts";
import { sendBatches, sendByHttp, sendInProcess } from "./send-batches.ts";

/** What all orders of one run share. */
export interface AnyOrderRun {
  readonly seed: number;
  readonly messages: readonly OrderedMessage[];
  readonly contested: ReadonlyMap<string, readonly string[]>;
  /** The state that every order must end in. */
  readonly expected: readonly string[];
  readonly lanes: number;
  readonly startEngine: StartEngine;
}

/** What one order ended in. An empty `problems` is a state like the expected one. */
export interface OrderResult {
  readonly order: number;
  readonly records: number;
  readonly batches: number;
  readonly through: "process" | "http";
  readonly durationMs: number;
  readonly analytics: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

const IN_FLIGHT = 6;
const DRAIN_MS_MAX = 300_000;
/** So many problems are told of each kind; the rest are counted. */
const TOLD_MAX = 5;

/** Applies the workload in the order of this number on a database of its own, and compares what came of it. */
export async function runOrder(
  run: AnyOrderRun,
  order: number,
  through: OrderResult["through"],
): Promise<OrderResult> {
  const startedAt = performance.now();
  const random = SeededRandom.stream(run.seed, 1000 + order);
  const messages = randomOrder(run.messages, run.contested, random);
  const batches = batchesOf(messages, run.contested, random);
  const database = await createTestDatabase();
  try {
    const failures: unknown[] = [];
    if (through === "http") await applyByHttp(database, batches);
    else await applyInProcess(database, batches, run, random.chance(0.2), failures);
    const problems = failures.slice(0, TOLD_MAX).map((error) => `apply failed: ${String(error)}`);
    const analytics = await digestAnalytics(database.pool);
    problems.push(...(await compare(database, run, messages.length)));
    const durationMs = performance.now() - startedAt;
    return {
      order,
      records: messages.length,
      batches: batches.length,
      through,
      durationMs,
      analytics,
      problems,
    };
  } finally {
    await database.drop();
  }
}

async function applyInProcess(
  database: TestDatabase,
  batches: readonly OrderedBatch[],
  run: AnyOrderRun,
  changesHands: boolean,
  failures: unknown[],
): Promise<void> {
  const engine = run.startEngine(database, (error) => failures.push(error));
  const log = await AcceptLog.open(database.clientConfig, run.lanes, {
    appended: (buckets) => engine.wake(buckets),
    failed: (error) => failures.push(error),
  });
  const send = sendInProcess(log, new PropertyRegister(database.pool, 100_000));
  const half = changesHands ? Math.floor(batches.length / 2) : batches.length;
  try {
    await sendBatches(batches.slice(0, half), IN_FLIGHT, send);
    if (changesHands)
      await Promise.all([engine.changeHands(), sendBatches(batches.slice(half), IN_FLIGHT, send)]);
    await untilApplied(database, () => failures.length > 0);
  } finally {
    await log.close();
    await engine.stop();
  }
}

async function applyByHttp(database: TestDatabase, batches: readonly OrderedBatch[]): Promise<void> {
  const service = await startTestService({ acceptWriters: 3, applyWriters: 2 }, { database });
  try {
    const grants = ["ALGARVE", "LISBOA"].map((clientCode) => ({ clientCode, propertyCode: "*" }));
    const client = await service.newClient({ grants });
    await sendBatches(batches, IN_FLIGHT, sendByHttp(service, client));
    await untilApplied(database, () => false);
  } finally {
    await service.stop();
  }
}

/** Waits until every part of the log has its outcomes, or until there is no use in waiting. */
async function untilApplied(database: TestDatabase, hopeless: () => boolean): Promise<void> {
  await until(async () => {
    const { rows } = await database.pool.query<{ left: boolean }>(
      `select exists (select from bellhop.accept_log log
        where not exists (select from bellhop.request_outcome o where o.bucket = log.bucket and o.request_id = log.request_id)
      ) as left`,
    );
    return rows[0]?.left === false || hopeless();
  }, DRAIN_MS_MAX);
}

async function compare(database: TestDatabase, run: AnyOrderRun, sent: number): Promise<string[]> {
  const problems: string[] = [];
  const logged = await readLog(database.pool);
  if (logged.length !== sent)
    problems.push(`${sent} records were accepted and ${logged.length} are in the log`);
  const places = new Map(
    logged.map((record) => [
      record.place,
      { ...record, identity: identityOf(record), content: contentOf(record.resource, record.json) },
    ]),
  );
  const observed = await readStateLines(database.pool, (place) => places.get(place));
  problems.push(...difference("the workload's state", run.expected, observed));
  // By its own receipts too: a difference only above would be one of the order of receipt, not of applying.
  problems.push(...difference("the state of the log as received", linesOf(expectedState(logged)), observed));
  problems.push(...outcomeProblems(logged, observed.length));
  const elsewhere = await countChangesThatEndElsewhere(database.pool);
  if (elsewhere > 0)
    problems.push(`the numbered changes of ${elsewhere} records end in another content than the current one`);
  return problems;
}

function difference(what: string, expected: readonly string[], observed: readonly string[]): string[] {
  const wanted = new Set(expected);
  const found = new Set(observed);
  const missing = expected.filter((line) => !found.has(line));
  const surplus = observed.filter((line) => !wanted.has(line));
  if (missing.length === 0 && surplus.length === 0 && expected.length === observed.length) return [];
  return [
    `not ${what}: ${missing.length} lines missing, ${surplus.length} too many, ${observed.length} of ${expected.length}`,
    ...missing.slice(0, TOLD_MAX).map((line) => `  missing ${line}`),
    ...surplus.slice(0, TOLD_MAX).map((line) => `  too many ${line}`),
  ];
}

/** Every record has one outcome, and as many are versions as there are versions. */
function outcomeProblems(logged: readonly LoggedRecord[], versions: number): string[] {
  const counts = new Map<string, number>();
  for (const { outcome = "none" } of logged) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const count = (letter: string): number => counts.get(letter) ?? 0;
  const problems: string[] = [];
  if (count("a") + count("u") + count("s") + count("d") !== logged.length)
    problems.push(
      `outcomes other than applied, unchanged, stale and duplicate: ${JSON.stringify([...counts])}`,
    );
  if (count("a") + count("u") + count("s") !== versions)
    problems.push(
      `${count("a") + count("u") + count("s")} outcomes say that a version was made; ${versions} exist`,
    );
  return problems;
}
