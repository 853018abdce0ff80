import { setTimeout as delay } from "node:timers/promises";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import type { TestDatabase } from "../support/database.ts";
import { startTestService } from "../support/service.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import type { StartEngine } from "./apply-engine.ts";
import { batchesOf, type OrderedBatch, type OrderedMessage, randomOrder } from "./random-order.ts";
import { SeededRandom } from "./seeded-random.ts";
import { sendBatches, sendByHttp, sendInProcess } from "./send-batches.ts";

/** What all orders of one run share. */
export interface OrderSource {
  readonly seed: number;
  readonly messages: readonly OrderedMessage[];
  readonly contested: ReadonlyMap<string, readonly string[]>;
  readonly logWriters: number;
}

/** One order: the requests to send, and how. Seed and number make the same one again. */
export interface PlannedOrder {
  readonly order: number;
  readonly records: number;
  readonly batches: readonly OrderedBatch[];
  readonly through: "process" | "http";
  /** Whether an applier hands over to another one in the middle. */
  readonly changesHands: boolean;
}

/** The workload as it was first received, whatever the seed: what the random orders are compared with. */
export const OWN_ORDER = 0;

const IN_FLIGHT = 6;
const APPLIED_MS_MAX = 300_000;
const LOOK_AGAIN_MS = 100;
const CHANGES_HANDS = 0.2;

export function planOrder(
  source: OrderSource,
  order: number,
  through: PlannedOrder["through"],
): PlannedOrder {
  const random = SeededRandom.stream(source.seed, 1000 + order);
  const messages =
    order === OWN_ORDER ? source.messages : randomOrder(source.messages, source.contested, random);
  const batches = batchesOf(messages, source.contested, random);
  const changesHands = order !== OWN_ORDER && random.chance(CHANGES_HANDS);
  return { order, records: messages.length, batches, through, changesHands };
}

/** Sends an order to a database and waits until all of it is applied. Answers what failed on the way. */
export async function applyOrder(
  database: TestDatabase,
  order: PlannedOrder,
  logWriters: number,
  startEngine: StartEngine,
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  if (order.through === "http") await applyByHttp(database, order.batches);
  else await applyInProcess(database, order, logWriters, startEngine, failures);
  return failures;
}

async function applyInProcess(
  database: TestDatabase,
  { batches, changesHands }: PlannedOrder,
  logWriters: number,
  startEngine: StartEngine,
  failures: unknown[],
): Promise<void> {
  const engine = startEngine(database, (error) => failures.push(error));
  const log = await AcceptLog.open(database.clientConfig, logWriters, {
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
  const deadline = performance.now() + APPLIED_MS_MAX;
  while (!hopeless()) {
    const left = await unappliedParts(database);
    if (left === 0) return;
    if (performance.now() > deadline)
      throw new Error(`After ${APPLIED_MS_MAX / 1000} s ${left} parts of the log are not applied.`);
    await delay(LOOK_AGAIN_MS);
  }
}
