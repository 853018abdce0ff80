import type pg from "pg";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { IntakeMinute, Rates } from "../../console/answers.ts";
import { isoOfMicroseconds, lowestIdAt, microsecondsOf } from "../../ingest/log/part-name.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

const readLag = readStatement(new URL("./sql/read-lag.sql", import.meta.url));
/** The log writers in which something may not be applied yet, and the database's clock. */
const readOpenLogWriters = namedStatement(
  "read-open-log-writers",
  `select clock_timestamp() as now,
    array(select log_writer_id::text from bellhop.log_writer where retired_at is null order by log_writer_id) as "logWriters"`,
);

/** Parts counted in each bucket and log writer. */
const LAG_WAITING_MAX = 100;

/** What is accepted and not applied, on all nodes together. */
interface ApplyLag {
  /** Age of the oldest part that waits; 0 where none does. */
  readonly seconds: number;
  readonly oldestReceivedAt: string | null;
  /** Parts that wait, `waitingMax` at most of each bucket and log writer. */
  readonly waiting: number;
  readonly waitingMax: number;
}

/** What waits, and in how many buckets. */
interface Backlog {
  readonly lag: ApplyLag;
  readonly buckets: number;
}

/** Looks what waits to be applied at `now`, a moment of the database's clock: one row of an index a bucket and log writer. */
async function readBacklog(
  pool: Queryable,
  logWriters: readonly string[],
  now: Date,
  { of, waitingMax = LAG_WAITING_MAX }: LookedFor,
): Promise<Backlog> {
  const { rows } = await pool.query<{ oldest: string | null; waiting: number; buckets: number }>({
    ...readLag,
    values: [waitingMax, logWriters, of ?? null],
  });
  const { oldest = null, waiting = 0, buckets = 0 } = rows[0] ?? {};
  const receivedUs = oldest === null ? undefined : microsecondsOf(oldest);
  const lag = {
    // What was received after the clock was read waits for no time at all.
    seconds: receivedUs === undefined ? 0 : Math.max(0, now.getTime() - receivedUs / 1000) / 1000,
    oldestReceivedAt: receivedUs === undefined ? null : isoOfMicroseconds(receivedUs),
    waiting,
    waitingMax,
  };
  return { lag, buckets };
}

interface LookedFor {
  /** By default all buckets. */
  readonly of?: readonly number[];
  /** Parts counted in each bucket and log writer. */
  readonly waitingMax?: number;
}

/** The database's clock, and how to look what waited to be applied at that moment. */
export async function lookForLag(
  pool: Queryable,
  lookedFor: LookedFor = {},
): Promise<{ now: Date; read(): Promise<Backlog> }> {
  const { rows } = await pool.query<{ now: Date; logWriters: string[] }>(readOpenLogWriters);
  const { now, logWriters } = rows[0] ?? { now: new Date(), logWriters: [] };
  return { now, read: () => readBacklog(pool, logWriters, now, lookedFor) };
}

/**
 * Batches and records received in each minute from id $1 on and before id $2, by resource. A batch has a row a bucket, each of
 * which counts as its part of the batch; rejected records count too.
 * Plan: an index scan of accept_log_request in one or two partitions.
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
 * As count-intake, of the properties within $3 and of what is applied: an apply transaction notes what each property had of it, by
 * the newest request. An index scan of feed_arrival for each property and resource.
 */
const countIntakeWithin = namedStatement(
  "count-intake-within",
  `select date_trunc('minute', analytics.received_at_of(arrival.last_request_id)) as minute, arrival.resource,
    sum(arrival.batches)::integer as batches,
    sum(applied + unchanged + stale + duplicate + quarantined + rejected)::integer as records
  from bellhop.property as property
  join bellhop.feed_arrival as arrival on arrival.bucket = property.bucket and arrival.property_id = property.property_id
  where arrival.resource in ('i', 'r', 'g') and arrival.last_request_id >= $1 and arrival.last_request_id < $2
    and (property.client_code || E'\\n*' = any ($3) or property.client_code || E'\\n' || property.property_code = any ($3))
  group by 1, 2`,
);
const countWithin = namedStatement(
  "count-quarantined-within",
  `select count(*)::integer as records from (
    select 1 from bellhop.quarantine join bellhop.property as property using (property_id)
    where quarantine.state = 'q'
      and (property.client_code || E'\\n*' = any ($2) or property.client_code || E'\\n' || property.property_code = any ($2))
    limit $1
  ) as counted`,
);
/** How many records are quarantined, $1 at most. An index-only scan of quarantine_unresolved_order. (Citus gathers no rows without a column.) */
const countQuarantined = namedStatement(
  "count-quarantined",
  `select count(*)::integer as records from (select 1 from bellhop.quarantine where state = 'q' limit $1) as counted`,
);

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** What is received in a minute is in the log by then: an append that takes longer has failed. */
const SETTLED_AFTER_MS = 2 * MINUTE_MS;
/** Minutes counted by one statement: a busy one has 100,000 rows and takes some 60 ms. */
const MINUTES_AT_ONCE = 5;
/** A look that has taken so long leaves the older minutes to the next one. */
const LOOK_MS_MAX = 300;
const COUNTED_MAX = 10_000;

type MinuteRates = Readonly<Record<Resource, Rates>>;

/** Ingestion now. Times are of the database's clock. */
interface Intake {
  readonly now: string;
  /** The last hour, oldest first; the last one is still growing. */
  readonly minutes: readonly IntakeMinute[];
  readonly lag: ApplyLag;
  readonly quarantined: number;
}

interface CountRow extends Rates {
  readonly minute: Date;
  readonly resource: ResourceLetter;
}

const nothing = (): Record<Resource, Rates> =>
  Object.fromEntries(RESOURCES.map((resource) => [resource, { batches: 0, records: 0 }])) as Record<
    Resource,
    Rates
  >;

function ratesByMinute(rows: readonly CountRow[]): Map<number, Record<Resource, Rates>> {
  const found = new Map<number, Record<Resource, Rates>>();
  for (const { minute, resource, batches, records } of rows) {
    const rates = found.get(minute.getTime()) ?? nothing();
    rates[resourceOf(resource)] = { batches, records };
    found.set(minute.getTime(), rates);
  }
  return found;
}

/** The last hour of the properties within a scope (`keys`) that has not everything; the lag is of their buckets. */
export async function lookWithin(
  pool: pg.Pool,
  keys: readonly string[],
  buckets: readonly number[],
): Promise<Intake> {
  const { now, read } = await lookForLag(pool, { of: buckets });
  const newest = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
  const oldest = newest - (MINUTES - 1) * MINUTE_MS;
  const { rows } = await pool.query<CountRow>({
    ...countIntakeWithin,
    values: [lowestIdAt(oldest), lowestIdAt(newest + MINUTE_MS), keys],
  });
  const counted = ratesByMinute(rows);
  const found = await pool.query<{ records: number }>({ ...countWithin, values: [COUNTED_MAX, keys] });
  const minutes = Array.from({ length: MINUTES }, (_, at) => oldest + at * MINUTE_MS).map((minute) => ({
    minute: new Date(minute).toISOString(),
    resources: counted.get(minute) ?? nothing(),
  }));
  const { lag } = await read();
  return { now: now.toISOString(), minutes, lag, quarantined: found.rows[0]?.records ?? 0 };
}

/**
 * The last hour of a node's log, minute by minute. Minutes that are over are counted once and kept, so that a look costs the
 * newest two, however many operators look; the hour is filled by the first looks, the newest minutes first.
 */
export class IntakeMeter {
  readonly #pool: pg.Pool;
  /** By the minute's beginning in milliseconds; `final`: nothing can come to it any more. */
  readonly #counted = new Map<number, { readonly rates: MinuteRates; readonly final: boolean }>();
  #looking: Promise<Intake> | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Reads the intake now; concurrent calls share one read. */
  look(): Promise<Intake> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<Intake> {
    const { now, read } = await lookForLag(this.#pool);
    const newest = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
    const oldest = newest - (MINUTES - 1) * MINUTE_MS;
    await this.#fill(oldest, newest, now.getTime());
    const { lag } = await read();
    const found = await this.#pool.query<{ records: number }>({ ...countQuarantined, values: [COUNTED_MAX] });
    return {
      now: now.toISOString(),
      minutes: Array.from({ length: MINUTES }, (_, at) => this.#minuteAt(oldest + at * MINUTE_MS)),
      lag,
      quarantined: found.rows[0]?.records ?? 0,
    };
  }

  #minuteAt(minute: number): IntakeMinute {
    return {
      minute: new Date(minute).toISOString(),
      resources: this.#counted.get(minute)?.rates ?? null,
    };
  }

  async #fill(oldest: number, newest: number, now: number): Promise<void> {
    for (const minute of this.#counted.keys()) if (minute < oldest) this.#counted.delete(minute);
    const startedAt = performance.now();
    for (let last = newest; last >= oldest; last -= MINUTES_AT_ONCE * MINUTE_MS) {
      const first = Math.max(oldest, last - (MINUTES_AT_ONCE - 1) * MINUTE_MS);
      const minutes = Array.from(
        { length: (last - first) / MINUTE_MS + 1 },
        (_, at) => first + at * MINUTE_MS,
      ).filter((minute) => this.#counted.get(minute)?.final !== true);
      const [from] = minutes;
      if (from === undefined) continue;
      await this.#count(from, last, now);
      if (performance.now() - startedAt > LOOK_MS_MAX) return;
    }
  }

  async #count(first: number, last: number, now: number): Promise<void> {
    const { rows } = await this.#pool.query<CountRow>({
      ...countIntake,
      values: [lowestIdAt(first), lowestIdAt(last + MINUTE_MS)],
    });
    const found = ratesByMinute(rows);
    for (let minute = first; minute <= last; minute += MINUTE_MS) {
      const final = minute + MINUTE_MS + SETTLED_AFTER_MS <= now;
      this.#counted.set(minute, { rates: found.get(minute) ?? nothing(), final });
    }
  }
}
