import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type StartEngine, startAppliers } from "./apply-engine.ts";
import { type Comparison, compareOrder, type Wanted } from "./compare-order.ts";
import { expectedState, linesOf } from "./expected-state.ts";
import { PLANTED_FAULTS, type PlantedFault } from "./planted-faults.ts";
import { contestedMoments, prepareMessages } from "./random-order.ts";
import { applyOrder, type OrderSource, OWN_ORDER, type PlannedOrder, planOrder } from "./run-order.ts";
import { generateWorkload } from "./workload.ts";

export interface AnyOrderOptions {
  readonly seed: number;
  readonly records: number;
  /** Numbers of the orders: `orders` of them from `first` on. */
  readonly first: number;
  readonly orders: number;
  /** Every so many-th order goes through HTTP, by its number. 0: none does. */
  readonly httpEvery: number;
  /** Orders on their way at the same time: while one waits for the database, another compares. */
  readonly atOnce: number;
  readonly plant?: PlantedFault;
  /** Hears of each order as it ends. The workload in its own order, with which the others are compared, is order 0. */
  readonly onResult?: (result: OrderResult) => void;
}

/** What one order ended in. Empty `problems` are a state and views like the wanted ones. */
export interface OrderResult extends Comparison {
  readonly order: number;
  readonly records: number;
  readonly batches: number;
  readonly through: PlannedOrder["through"];
  readonly appliedMs: number;
  readonly comparedMs: number;
}

const PROPERTIES = 24;
const LOG_WRITERS = 3;
const APPLIERS = 2;
/** So many failures of appliers are reported of one order. */
const FAILURES_LISTED_MAX = 5;

/**
 * Applies one workload in many random orders, each in its own database, and compares the results with the contract's
 * model and the workload's views. Stops at the first difference and returns its problems; none means that order does
 * not matter.
 */
export async function runAnyOrder(options: AnyOrderOptions): Promise<readonly string[]> {
  const { seed, records, onResult } = options;
  const messages = prepareMessages(generateWorkload({ seed, records, properties: PROPERTIES }));
  const source: OrderSource = {
    seed,
    messages,
    contested: contestedMoments(messages),
    logWriters: LOG_WRITERS,
  };
  const wanted: Wanted = {
    state: linesOf(expectedState(messages.map(({ message }) => message))),
    sent: new Map(messages.map((message) => [message.message.json, message])),
    reference: undefined,
  };
  const database = await createTestDatabase();
  try {
    const reference = await runOrder(
      database,
      planOrder(source, OWN_ORDER, "process"),
      wanted,
      startAppliers(APPLIERS),
    );
    onResult?.(reference);
    if (reference.problems.length > 0) return reference.problems;
    return await runOrders(options, source, {
      ...wanted,
      reference: { database, views: reference.views, ledger: reference.ledger },
    });
  } finally {
    await database.drop();
  }
}

async function runOrders(
  options: AnyOrderOptions,
  source: OrderSource,
  wanted: Wanted,
): Promise<readonly string[]> {
  const { first, orders, httpEvery, atOnce, plant, onResult } = options;
  const startEngine = plant === undefined ? startAppliers(APPLIERS) : PLANTED_FAULTS[plant];
  const problems: string[] = [];
  let next = first;
  const runNext = async (): Promise<void> => {
    while (next < first + orders && problems.length === 0) {
      const order = next;
      next += 1;
      const throughHttp = httpEvery > 0 && order % httpEvery === 0;
      const planned = planOrder(source, order, throughHttp ? "http" : "process");
      const database = await createTestDatabase();
      try {
        const result = await runOrder(database, planned, wanted, startEngine);
        onResult?.(result);
        problems.push(...result.problems);
      } finally {
        await database.drop();
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return problems;
}

async function runOrder(
  database: TestDatabase,
  planned: PlannedOrder,
  wanted: Wanted,
  startEngine: StartEngine,
): Promise<OrderResult> {
  const startedAt = performance.now();
  const failures = await applyOrder(database, planned, LOG_WRITERS, startEngine);
  const appliedAt = performance.now();
  const { views, ledger, problems } = await compareOrder(database, wanted, planned.records);
  const { order, records, batches, through } = planned;
  return {
    order,
    records,
    batches: batches.length,
    through,
    views,
    ledger,
    problems: [
      ...failures.slice(0, FAILURES_LISTED_MAX).map((error) => `apply failed: ${String(error)}`),
      ...problems,
    ],
    appliedMs: appliedAt - startedAt,
    comparedMs: performance.now() - appliedAt,
  };
}
