import { type BellhopClient, JsonRecord, type SendReport } from "#client";
import { Pace } from "./pace.ts";
import { SIMULATED_RESOURCES, type SimulatedRecord } from "./simulated-record.ts";
import type { SimulatedDay } from "./simulation.ts";
import { countDay, emptyCounts, type SimulationCounts } from "./write-simulation.ts";

export interface SimulationSendOptions {
  /** Records of one batch. */
  readonly batchRecords: number;
  /** Requests of one resource under way at once. */
  readonly concurrency: number;
  /** Simulated seconds that pass in one; undefined sends as fast as is answered. */
  readonly speed: number | undefined;
  /** Waits until every batch is applied, and adds up what became of its records. */
  readonly waitForOutcomes: boolean;
  /** Sends invalid records with the others, for the service to reject them one by one. */
  readonly lenient: boolean;
  readonly signal?: AbortSignal;
  /** Told after every day. */
  readonly onDay?: (sent: SentSimulation, day: SimulatedDay) => void;
}

/** What was sent, and what the service said. */
export interface SentSimulation extends SimulationCounts {
  batches: number;
  accepted: number;
  rejected: number;
  quarantined: number;
  retries: number;
  readonly outcomes: Record<string, number>;
  readonly startedAtMs: number;
  elapsedMs: number;
}

/**
 * Sends what the hotels send, day by day and wave by wave, each accepted whole before the next one begins. While a wave is under way
 * the next day is made. Rejects with the client's SendError when it cannot go on.
 */
export async function sendSimulation(
  days: Iterable<SimulatedDay>,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
): Promise<SentSimulation> {
  const startedAtMs = performance.now();
  const sent: SentSimulation = {
    ...emptyCounts(),
    ...{
      batches: 0,
      accepted: 0,
      rejected: 0,
      quarantined: 0,
      retries: 0,
      outcomes: {},
      startedAtMs,
      elapsedMs: 0,
    },
  };
  const pace = options.speed === undefined ? undefined : new Pace(options.speed, options.signal);
  let before: Promise<void> = Promise.resolve();
  for (const day of days) {
    await before;
    before = sendDay(day, bellhop, options, pace, sent);
    // Whoever is told of the failure is the next turn, or the end.
    before.catch(() => undefined);
    // Requests leave before the next day is made.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await before;
  return sent;
}

async function sendDay(
  day: SimulatedDay,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
  pace: Pace | undefined,
  sent: SentSimulation,
): Promise<void> {
  for (const wave of day.waves) {
    for await (const part of pace === undefined ? [wave] : pace.parts(wave))
      await sendPart(part, bellhop, options, sent);
  }
  countDay(sent, day);
  sent.elapsedMs = performance.now() - sent.startedAtMs;
  options.onDay?.(sent, day);
}

async function sendPart(
  records: readonly SimulatedRecord[],
  bellhop: BellhopClient,
  { batchRecords, concurrency, waitForOutcomes, lenient, signal }: SimulationSendOptions,
  sent: SentSimulation,
): Promise<void> {
  const reports = SIMULATED_RESOURCES.map((resource) => {
    const own = records.filter((record) => record.resource === resource);
    if (own.length === 0) return undefined;
    const json = own.map((record) => new JsonRecord(record.json));
    return bellhop[resource].send(json, { batchRecords, concurrency, waitForOutcomes, lenient, signal });
  });
  for (const report of await Promise.all(reports)) if (report !== undefined) addReport(sent, report);
}

function addReport(sent: SentSimulation, report: SendReport): void {
  sent.batches += report.batches;
  sent.accepted += report.accepted;
  sent.rejected += report.rejectedTotal;
  sent.quarantined += report.outcomes?.quarantined ?? 0;
  sent.retries += report.retries;
  for (const [outcome, count] of Object.entries(report.outcomes ?? {}))
    sent.outcomes[outcome] = (sent.outcomes[outcome] ?? 0) + count;
}
