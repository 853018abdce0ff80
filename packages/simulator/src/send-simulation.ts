import { setTimeout as delay } from "node:timers/promises";
import { type BellhopClient, JsonBatch, SendError, type SendReport } from "../../client/src/index.ts";
import type { PackedBatch, PackedDay, PackedPart } from "./packed-day.ts";
import { QUARTER_SECONDS, SIMULATED_RESOURCES } from "./simulated-record.ts";
import { addDay, emptyCounts, type SimulationCounts } from "./write-simulation.ts";

/** Lets simulated time pass so many times as fast as time does, from the first wave on. */
export class Pace {
  readonly #speed: number;
  readonly #signal: AbortSignal | undefined;
  /** The first wave's last quarter of an hour, and when it was sent, in milliseconds. */
  #start: { readonly quarter: number; readonly atMs: number } | undefined;

  constructor(speed: number, signal: AbortSignal | undefined) {
    this.#speed = speed;
    this.#signal = signal;
  }

  /** The parts of a wave when they are due, those that are overdue together. Rejects with the signal's reason once that is aborted. */
  async *due(wave: readonly PackedPart[]): AsyncGenerator<readonly PackedPart[]> {
    this.#start ??= { quarter: wave.at(-1)?.quarter ?? 0, atMs: performance.now() };
    let due: PackedPart[] = [];
    for (const part of wave) {
      const { quarter, atMs } = this.#start;
      const dueMs = atMs + ((part.quarter - quarter) * QUARTER_SECONDS * 1_000) / this.#speed;
      if (dueMs - performance.now() > 1) {
        if (due.length > 0) yield due;
        due = [];
        const waitMs = dueMs - performance.now();
        if (waitMs > 1)
          await delay(waitMs, undefined, this.#signal === undefined ? {} : { signal: this.#signal });
      }
      due.push(part);
    }
    if (due.length > 0) yield due;
  }
}

export interface SimulationSendOptions {
  /** Requests of one resource under way at once. */
  readonly concurrency: number;
  /** Simulated seconds that pass in one, of days that were packed for it; undefined sends as fast as is answered. */
  readonly speed: number | undefined;
  /** Waits until every batch is applied, and adds up what became of its records. */
  readonly waitForOutcomes: boolean;
  /** Sends invalid records with the others, for the service to reject them one by one. */
  readonly lenient: boolean;
  readonly signal?: AbortSignal;
  /** Told after every day. */
  readonly onDay?: (sent: SentSimulation, day: PackedDay) => void;
}

/** What was sent, and what the service said. */
export interface SentSimulation extends SimulationCounts {
  batches: number;
  accepted: number;
  rejected: number;
  quarantined: number;
  retries: number;
  readonly outcomes: Record<string, number>;
  /** Since the first day was made. */
  elapsedMs: number;
}

/** A simulation that was not sent to its end: the cause says why, and `sent` what had been sent by then. */
export class SimulationCutShort extends Error {
  override readonly name = "SimulationCutShort";
  readonly sent: SentSimulation;

  constructor(cause: unknown, sent: SentSimulation) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }
}

/**
 * Sends what the hotels send, day by day and wave by wave, each accepted whole before the next one begins. While a day is under way
 * the next one is asked for. Rejects with SimulationCutShort when it cannot go on.
 */
export async function sendSimulation(
  days: AsyncIterable<PackedDay>,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
): Promise<SentSimulation> {
  const sent: SentSimulation = {
    ...emptyCounts(),
    batches: 0,
    accepted: 0,
    rejected: 0,
    quarantined: 0,
    retries: 0,
    outcomes: {},
    elapsedMs: 0,
  };
  const pace = options.speed === undefined ? undefined : new Pace(options.speed, options.signal);
  let startedAtMs: number | undefined;
  let before: Promise<void> = Promise.resolve();
  try {
    for await (const day of days) {
      startedAtMs ??= performance.now();
      const since = startedAtMs;
      await before;
      before = sendDay(day, bellhop, options, pace, sent).then(() => {
        sent.elapsedMs = performance.now() - since;
        options.onDay?.(sent, day);
      });
      // Whoever is told of the failure is the next turn, or the end.
      before.catch(() => undefined);
    }
    await before;
    return sent;
  } catch (cause) {
    // What is under way counts, too: whatever ends this ends that.
    await before.catch(() => undefined);
    sent.elapsedMs = performance.now() - (startedAtMs ?? performance.now());
    throw new SimulationCutShort(cause, sent);
  }
}

async function sendDay(
  day: PackedDay,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
  pace: Pace | undefined,
  sent: SentSimulation,
): Promise<void> {
  for (const wave of day.waves) {
    for await (const parts of pace === undefined ? [wave] : pace.due(wave))
      await sendBatches(
        parts.flatMap(({ batches }) => batches),
        bellhop,
        options,
        sent,
      );
  }
  addDay(sent, day);
}

async function sendBatches(
  batches: readonly PackedBatch[],
  bellhop: BellhopClient,
  { concurrency, waitForOutcomes, lenient, signal }: SimulationSendOptions,
  sent: SentSimulation,
): Promise<void> {
  const reports = SIMULATED_RESOURCES.map((resource) => {
    const own = batches.filter((batch) => batch.resource === resource);
    if (own.length === 0) return undefined;
    const bodies = own.map(({ body, records }) => new JsonBatch(body, records));
    return bellhop[resource].send(bodies, { concurrency, waitForOutcomes, lenient, signal });
  });
  let failure: { readonly cause: unknown } | undefined;
  for (const settled of await Promise.allSettled(reports)) {
    if (settled.status === "rejected") failure ??= { cause: settled.reason };
    const report = settled.status === "fulfilled" ? settled.value : reportOf(settled.reason);
    if (report !== undefined) addReport(sent, report);
  }
  if (failure !== undefined) throw failure.cause;
}

const reportOf = (error: unknown): SendReport | undefined =>
  error instanceof SendError ? error.report : undefined;

function addReport(sent: SentSimulation, report: SendReport): void {
  sent.batches += report.batches;
  sent.accepted += report.accepted;
  sent.rejected += report.rejectedTotal;
  sent.quarantined += report.outcomes?.quarantined ?? 0;
  sent.retries += report.retries;
  for (const [outcome, count] of Object.entries(report.outcomes ?? {}))
    sent.outcomes[outcome] = (sent.outcomes[outcome] ?? 0) + count;
}
