import type pg from "pg";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { isWithinKeys } from "../../identity/scope.ts";
import { isoOfMicroseconds, lowestIdAt, microsecondsOf } from "../../ingest/log/part-name.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { bucketsWithin } from "../../query/console/requests.ts";
import { readOpenLogWriters } from "../watermark.ts";
import type { IntakeAnswer, IntakeOutcomes, IntakeRange, Rates } from "./answers.ts";

const readLag = readStatement(new URL("./sql/read-lag.sql", import.meta.url));

const LAG_WAITING_MAX = 100;

/** Unapplied parts and the number of their buckets. */
interface Backlog {
  readonly lag: IntakeAnswer["lag"];
  readonly buckets: number;
}

/** Reads the backlog at `now`, by the database's clock: one index row per bucket and log writer. */
async function readBacklog(
  pool: Queryable,
  logWriters: readonly string[],
  now: Date,
  { of, waitingMax = LAG_WAITING_MAX }: LagOptions,
): Promise<Backlog> {
  const { rows } = await pool.query<{ oldest: string | null; waiting: number; buckets: number }>({
    ...readLag,
    values: [waitingMax, logWriters, of ?? null],
  });
  const { oldest = null, waiting = 0, buckets = 0 } = rows[0] ?? {};
  const receivedUs = oldest === null ? undefined : microsecondsOf(oldest);
  const lag = {
    // Parts received after the clock was read have not waited.
    seconds: receivedUs === undefined ? 0 : Math.max(0, now.getTime() - receivedUs / 1000) / 1000,
    oldestReceivedAt: receivedUs === undefined ? null : isoOfMicroseconds(receivedUs),
    waiting,
    waitingMax,
  };
  return { lag, buckets };
}

interface LagOptions {
  /** Default: all buckets. */
  readonly of?: readonly number[];
  /** Maximum parts counted per bucket and log writer. */
  readonly waitingMax?: number;
}

/** Reads the database's clock, and returns a function that reads the backlog at that moment. */
export async function openLagReader(
  pool: Queryable,
  options: LagOptions = {},
): Promise<{ now: Date; read(): Promise<Backlog> }> {
  const { now, logWriters } = await readOpenLogWriters(pool);
  return { now, read: () => readBacklog(pool, logWriters, now, options) };
}

/**
 * Batches and records received per minute from id $1 to before id $2, by resource. A batch has a row per bucket; each counts as its share
 * of the batch. Includes rejected records. Plan: an index scan of accept_log_request in one or two partitions.
 */
const countIntake = namedStatement(
  "count-intake",
  `select
    date_trunc('minute', received_at) as minute, resource,
    round(sum(1.0::float8 / batch_part_count))::integer as batches,
    round(sum(batch_record_count::float8 / batch_part_count))::integer as records
  from bellhop.accept_log
  where request_id >= $1 and request_id < $2 and kind = 'b'
  group by 1, 2`,
);
/**
 * As count-intake, but in steps of $3 seconds, of applied records with their outcomes, for the properties within $4 (null: all). Plan: an
 * index scan of feed_arrival per property and resource, by newest request.
 */
const countArrivals = namedStatement(
  "count-arrivals",
  `select date_bin(make_interval(secs => $3), analytics.received_at_of(arrival.last_request_id), '2000-01-01Z') as minute,
    arrival.resource, sum(arrival.batches)::integer as batches,
    sum(applied + unchanged + stale + duplicate + quarantined + rejected)::integer as records,
    sum(rejected)::integer as rejected, sum(quarantined)::integer as quarantined, sum(warned)::integer as warned
  from bellhop.property as property
  join bellhop.feed_arrival as arrival on arrival.bucket = property.bucket and arrival.property_id = property.property_id
  where arrival.resource in ('i', 'r', 'g') and arrival.last_request_id >= $1 and arrival.last_request_id < $2
    and ${isWithinKeys("$4")}
  group by 1, 2`,
);
const countWithin = namedStatement(
  "count-quarantined-within",
  `select count(*)::integer as records from (
    select 1 from bellhop.quarantine join bellhop.property as property using (property_id)
    where quarantine.state = 'q' and ${isWithinKeys("$2")}
    limit $1
  ) as counted`,
);
/**
 * Number of quarantined records, at most $1. Plan: an index-only scan of quarantine_unresolved_order. (Citus cannot gather rows without
 * columns.)
 */
const countQuarantined = namedStatement(
  "count-quarantined",
  `select count(*)::integer as records from (select 1 from bellhop.quarantine where state = 'q' limit $1) as counted`,
);

const COUNTED_MAX = 10_000;

/** Number of quarantined records within a scope (`keys`; null: all), at most 10,000. */
export async function countQuarantinedWithin(pool: pg.Pool, keys: readonly string[] | null): Promise<number> {
  const count = keys === null ? countQuarantined : countWithin;
  const values = keys === null ? [COUNTED_MAX] : [COUNTED_MAX, keys];
  return (await pool.query<{ records: number }>({ ...count, values })).rows[0]?.records ?? 0;
}

const MINUTE_MS = 60_000;
/** A minute's receipts are in the log after this time; slower appends have failed. */
const SETTLED_AFTER_MS = 2 * MINUTE_MS;
/** A read that has taken this long leaves the older steps to the next one. */
const READ_MS_MAX = 300;

/** A range's step in milliseconds, number of steps, and steps per statement: a busy minute has 100,000 rows and takes about 60 ms. */
interface Span {
  readonly stepMs: number;
  readonly steps: number;
  readonly stepsAtOnce: number;
}

const SPANS: Readonly<Record<IntakeRange, Span>> = {
  hour: { stepMs: MINUTE_MS, steps: 60, stepsAtOnce: 5 },
  day: { stepMs: 15 * MINUTE_MS, steps: 96, stepsAtOnce: 8 },
};

/** Current ingestion. Times are by the database's clock. */
type Intake = Omit<IntakeAnswer, "lastBatches">;

const OUTCOMES = ["records", "rejected", "quarantined", "warned"] as const;

interface CountRow extends Rates, Partial<IntakeOutcomes> {
  readonly records: number;
  readonly minute: Date;
  readonly resource: ResourceLetter;
}

/** Counts of one step. */
interface Count {
  readonly rates: Record<Resource, Rates>;
  readonly outcomes: Record<(typeof OUTCOMES)[number], number>;
}

const nothing = (): Count => ({
  rates: Object.fromEntries(
    RESOURCES.map((resource) => [resource, { batches: 0, records: 0 }]),
  ) as Count["rates"],
  outcomes: { records: 0, rejected: 0, quarantined: 0, warned: 0 },
});

function countsByStep(rows: readonly CountRow[]): Map<number, Count> {
  const found = new Map<number, Count>();
  for (const row of rows) {
    const { batches, records } = row;
    const count = found.get(row.minute.getTime()) ?? nothing();
    count.rates[resourceOf(row.resource)] = { batches, records };
    for (const outcome of OUTCOMES) count.outcomes[outcome] += row[outcome] ?? 0;
    found.set(row.minute.getTime(), count);
  }
  return found;
}

/** Start times of a range's steps, oldest first. */
function stepsUntil(now: Date, { stepMs, steps }: Span): number[] {
  const newest = Math.floor(now.getTime() / stepMs) * stepMs;
  return Array.from({ length: steps }, (_, at) => newest - (steps - 1 - at) * stepMs);
}

/** Undefined if the step is not counted yet. */
type Counted = (step: number) => Count | undefined;

const minutesOf = (steps: readonly number[], counted: Counted): Intake["minutes"] =>
  steps.map((step) => ({
    minute: new Date(step).toISOString(),
    resources: counted(step)?.rates ?? null,
  }));

function outcomesOf(steps: readonly number[], counted: Counted): IntakeOutcomes {
  const sum = nothing().outcomes;
  for (const step of steps)
    for (const outcome of OUTCOMES) sum[outcome] += counted(step)?.outcomes[outcome] ?? 0;
  return sum;
}

/** Builds the statement that counts from one request id to before another. */
type ReadCounts = (from: string, to: string) => pg.QueryConfig;

/** Counts of a range by step. Steps that can no longer change are counted once and cached. */
class Tally {
  readonly #pool: pg.Pool;
  readonly #span: Span;
  readonly #read: ReadCounts;
  /** By step start in milliseconds; `final`: can no longer change. */
  readonly #counted = new Map<number, { readonly count: Count; readonly final: boolean }>();

  constructor(pool: pg.Pool, span: Span, read: ReadCounts) {
    this.#pool = pool;
    this.#span = span;
    this.#read = read;
  }

  readonly at: Counted = (step) => this.#counted.get(step)?.count;

  /** Counts the newest steps first, within the time limit. Steps from `openMs` on may still change. */
  async fill(steps: readonly number[], openMs: number): Promise<void> {
    const [oldest = 0] = steps;
    for (const step of this.#counted.keys()) if (step < oldest) this.#counted.delete(step);
    const startedAt = performance.now();
    const { stepMs, stepsAtOnce } = this.#span;
    for (let end = steps.length; end > 0; end -= stepsAtOnce) {
      const [from, ...more] = steps
        .slice(Math.max(0, end - stepsAtOnce), end)
        .filter((step) => this.#counted.get(step)?.final !== true);
      if (from === undefined) continue;
      const { rows } = await this.#pool.query<CountRow>(
        this.#read(lowestIdAt(from), lowestIdAt((more.at(-1) ?? from) + stepMs)),
      );
      const found = countsByStep(rows);
      for (const step of [from, ...more])
        this.#counted.set(step, {
          count: found.get(step) ?? nothing(),
          final: step + stepMs + SETTLED_AFTER_MS <= openMs,
        });
      if (performance.now() - startedAt > READ_MS_MAX) return;
    }
  }
}

/**
 * The intake of the properties within a scope (`keys`; null: all). The hour of all properties is counted from the log, so it includes
 * unapplied parts; everything else is counted from applied records. A read counts only the newest steps for any number of operators; the
 * first reads fill the range.
 */
export class IntakeMeter {
  readonly #pool: pg.Pool;
  readonly #keys: readonly string[] | null;
  readonly #received: Tally;
  readonly #arrived: Readonly<Record<IntakeRange, Tally>>;
  readonly #looking = new Map<IntakeRange, Promise<Intake>>();

  constructor(pool: pg.Pool, keys: readonly string[] | null) {
    this.#pool = pool;
    this.#keys = keys;
    const arrived = (span: Span) =>
      new Tally(pool, span, (from, to) => ({
        ...countArrivals,
        values: [from, to, span.stepMs / 1000, keys],
      }));
    this.#received = new Tally(pool, SPANS.hour, (from, to) => ({ ...countIntake, values: [from, to] }));
    this.#arrived = { hour: arrived(SPANS.hour), day: arrived(SPANS.day) };
  }

  /** Reads the current intake; concurrent calls share one read. */
  look(range: IntakeRange): Promise<Intake> {
    const looking = this.#looking.get(range) ?? this.#look(range).finally(() => this.#looking.delete(range));
    this.#looking.set(range, looking);
    return looking;
  }

  async #look(range: IntakeRange): Promise<Intake> {
    const [pool, keys] = [this.#pool, this.#keys];
    const { now, read } = await openLagReader(
      pool,
      keys === null ? {} : { of: await bucketsWithin(pool, keys) },
    );
    const steps = stepsUntil(now, SPANS[range]);
    const { lag } = await read();
    // Unapplied parts are counted later, under their time of receipt.
    const openMs = now.getTime() - lag.seconds * 1000;
    const arrived = this.#arrived[range];
    const shown = range === "hour" && keys === null ? this.#received : arrived;
    if (shown !== arrived) await shown.fill(steps, now.getTime());
    await arrived.fill(steps, openMs);
    return {
      now: now.toISOString(),
      minutes: minutesOf(steps, shown.at),
      outcomes: outcomesOf(steps, arrived.at),
      lag,
      quarantined: await countQuarantinedWithin(pool, keys),
    };
  }
}
