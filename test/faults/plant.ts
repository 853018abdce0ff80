/**
 * Plants faults in the service to show that the harness finds them. Loaded by `--import plant.ts?fault=<name>`; the
 * service's files are unchanged.
 */
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import {
  ChangeCounters,
  LeaseLost,
  LeaseStatements,
  Leases,
  type LockedLease,
} from "../../src/apply/leases.ts";
import { AcceptLog, type FlushResult, LogWriter } from "../../src/ingest/log/accept-log.ts";
import { ALL_BUCKETS, RequestIdStamp } from "../../src/ingest/log/part-name.ts";

/** So many flushes come late, and so many transactions pause before their end, by as much at most. */
const LATE_CHANCE = 0.5;
const LATE_MS_MAX = 500;

/** Answers 202 before the commit: what is on its way when the service is killed is lost. */
function answerBeforeCommit(): void {
  const stamp = RequestIdStamp.prototype.next;
  let stamped: string[] = [];
  RequestIdStamp.prototype.next = function (this: RequestIdStamp) {
    const requestId = stamp.call(this);
    stamped.push(requestId);
    return requestId;
  };
  const flush = LogWriter.prototype.flush;
  LogWriter.prototype.flush = async function (this: LogWriter, appends) {
    stamped = [];
    // The ids are stamped before the first turn of the loop.
    flush.call(this, appends).catch(() => undefined);
    return stamped.map((requestId): FlushResult => ({ kind: "written", requestId }));
  };
}

/** Forgets Idempotency-Keys: a batch that is repeated after a lost answer is stored twice. */
function forgetKeys(): void {
  const append = AcceptLog.prototype.append;
  AcceptLog.prototype.append = function (this: AcceptLog, submission) {
    return append.call(this, { ...submission, idempotency: null });
  };
}

/** Answers once PostgreSQL has the commit in memory: a PostgreSQL that is killed whole loses it. */
function commitInMemory(): void {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  const weakened = new WeakSet<pg.Client>();
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const { application_name: name } = (this as unknown as LogWriterConnection).connectionParameters;
    if (name === "bellhop accept" && !weakened.has(this)) {
      weakened.add(this);
      void query.call(this, "set synchronous_commit = off");
    }
    return query.apply(this, args);
  } as typeof pg.Client.prototype.query;
}

/** A statement of the service as pg is asked for it. */
interface AskedStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Has each connection ask something else in the place of the named statements. */
function rewrite(statements: Readonly<Record<string, (asked: AskedStatement) => AskedStatement>>): void {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  pg.Client.prototype.query = function (this: pg.Client, asked: AskedStatement, ...rest: unknown[]) {
    const other = statements[asked.name ?? ""];
    return query.call(this, other === undefined ? asked : other(asked), ...rest);
  } as typeof pg.Client.prototype.query;
}

/** The text with `part` replaced; throws where there is no such part any more, or a plant would plant nothing. */
function replaced(text: string, part: string, other: string): string {
  if (!text.includes(part)) throw new Error(`The statement has no ${JSON.stringify(part)} to be replaced.`);
  return text.replace(part, other);
}

/** Asks for some of the statements of this name late, as on a slow road. By itself that is harmless. */
function askLate(name: string): void {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
  pg.Client.prototype.query = function (this: pg.Client, asked: AskedStatement, ...rest: unknown[]) {
    const isLate = asked.name === name && Math.random() < LATE_CHANCE;
    if (!isLate) return query.call(this, asked, ...rest);
    return delay(Math.random() * LATE_MS_MAX).then(() => query.call(this, asked, ...rest));
  } as typeof pg.Client.prototype.query;
}

/**
 * Reads on after the newest entry that was applied of any log writer: what another log writer commits late is passed by. By itself it was
 * not found in 1,454 requests: two log writers have to commit in one bucket within some ms, and an applier to read in between.
 */
function withoutLogWriterRule(): void {
  // Entries are stamped before.
  askLate("append-entries");
  rewrite({
    "read-backlog": (asked) => ({
      ...asked,
      text: replaced(asked.text, " and passed.log_writer_id = log_writer.log_writer_id", ""),
    }),
  });
}

/** Every applier applies every bucket, whoever's it is: no lease is held and no epoch compared. */
function applyAllBuckets(): void {
  let found: readonly LockedLease[] = [];
  const read = LeaseStatements.prototype.lockBuckets;
  LeaseStatements.prototype.lockBuckets = async function (this: LeaseStatements, buckets) {
    const leases = await read.call(this, buckets);
    found = leases;
    return leases;
  };
  const lock = Leases.prototype.lock;
  Leases.prototype.lock = async function (this: Leases, buckets) {
    await lock.call(this, buckets).catch((error: unknown) => {
      if (!(error instanceof LeaseLost)) throw error;
    });
    // One applier a thread, so these are what it has just read.
    return new ChangeCounters(new Map(found.map((lease) => [lease.bucket, Number(lease.next_change)])));
  };
}

const ofEveryBucket = (asked: AskedStatement): AskedStatement => ({
  ...asked,
  values: [ALL_BUCKETS, ...(asked.values ?? []).slice(1)],
});
const withoutLocks = (asked: AskedStatement): AskedStatement => ({
  ...asked,
  text: replaced(asked.text, "for update", ""),
});

const UNHEEDED = "on conflict do nothing";

/**
 * Gives every bucket as many owners as there are appliers, and disables the primary keys of outcomes and arrivals and
 * the check of change counters. With either in force, two owners did no harm in campaigns of 15,557 and about 60,000
 * records.
 */
function twoOwners(): void {
  applyAllBuckets();
  // Who comes second has read the number of the last change before the first one's commit, and waits at the cursor for that.
  // Before that it is late, too, so that more has come than the first one read.
  askLate("write-cursors");
  askLate("write-outcomes");
  rewrite({
    "read-backlog": ofEveryBucket,
    "lock-buckets": withoutLocks,
    "write-outcomes": (asked) => {
      const arrivals = "json_populate_recordset(null::bellhop.feed_arrival, $2::json)";
      return { ...asked, text: `${replaced(asked.text, arrivals, `${arrivals} ${UNHEEDED}`)} ${UNHEEDED}` };
    },
    "write-change-counters": (asked) => ({
      ...asked,
      text: replaced(asked.text, " and counter.next_change = moved.former", ""),
    }),
  });
}

/** Rewrites what is asked without a name, where its text has `part`. */
function rewriteUnnamed(part: string, other: (asked: AskedStatement) => AskedStatement): void {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  pg.Client.prototype.query = function (this: pg.Client, asked: AskedStatement, ...rest: unknown[]) {
    const isMeant = asked.name === undefined && typeof asked.text === "string" && asked.text.includes(part);
    return query.call(this, isMeant ? other(asked) : asked, ...rest);
  } as typeof pg.Client.prototype.query;
}

/** A reader of the feed that keeps one number: in every bucket it goes on behind the highest it has received of any. */
function followHighestNumber(): void {
  rewriteUnnamed("as looked (bucket, behind", (asked) => {
    const [buckets, behind, ...others] = asked.values as [number[], number[], ...unknown[]];
    return { ...asked, values: [buckets, behind.map(() => Math.max(...behind)), ...others] };
  });
}

/** A reader of the feed that believes numbers which are handed out and not committed yet, as of a sequence. */
function believeSequence(): void {
  const ahead = (asked: AskedStatement) => ({
    ...asked,
    text: replaced(asked.text, "(counter.next_change - 1)", "(counter.next_change + 1)"),
  });
  rewrite({ "read-change-ends": ahead });
}

/** What pg's types leave out. */
interface LogWriterConnection {
  readonly connectionParameters: { readonly application_name: string };
}

export const PLANTED_FAULTS = {
  "answer-before-commit": answerBeforeCommit,
  "forget-keys": forgetKeys,
  "commit-in-memory": commitInMemory,
  "log-writer-rule": withoutLogWriterRule,
  "two-owners": twoOwners,
  "highest-number": followHighestNumber,
  "believe-sequence": believeSequence,
} as const;

export type PlantedFault = keyof typeof PLANTED_FAULTS;

export function isPlanted(name: string): name is PlantedFault {
  return Object.hasOwn(PLANTED_FAULTS, name);
}

const fault = new URL(import.meta.url).searchParams.get("fault");
if (fault !== null) PLANTED_FAULTS[fault as PlantedFault]();
