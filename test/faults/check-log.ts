import type pg from "pg";
import type { Resource } from "#contract/resource.ts";
import { ALL_BUCKETS, microsecondsOf } from "../../src/ingest/log/part-name.ts";
import { type JudgedRecord, judge, linesOf, stateAfter } from "../workload/expected-state.ts";
import { ledgerProblems } from "../workload/observed-ledger.ts";
import { type LoggedRecord, placeOf, readLog, readStateLines } from "../workload/observed-state.ts";
import { batchNumberOf } from "./batch-source.ts";
import type { Ledger } from "./ledger.ts";
import { RecordsDigest } from "./records-digest.ts";

/** So many of each kind of problem are reported; the rest are counted. */
const LISTED_MAX = 5;

export interface LogFindings {
  /** Requests that were answered 202 and are not in the log, whole and as sent. */
  readonly lost: number;
  /** Batches that are in the log more than once. */
  readonly doubled: number;
  readonly storedUnanswered: number;
  readonly storedRecords: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** Cheap, after each kill: the requests answered lately are there with all their parts and records. */
export async function countLost(
  pool: pg.Pool,
  ledger: Ledger,
  requestIds: readonly string[],
): Promise<number> {
  const { rows } = await pool.query<{ request_id: string }>(
    `select request_id from bellhop.accept_log where request_id = any ($1::uuid[]) group by request_id
    having count(*) = max(batch_part_count) and sum(record_count) = max(batch_record_count)`,
    [requestIds],
  );
  const whole = new Set(rows.map(({ request_id }) => request_id));
  const lost = requestIds.filter((requestId) => !whole.has(requestId));
  for (const requestId of lost.slice(0, LISTED_MAX)) {
    const sent = ledger.byRequestId(requestId);
    ledger.problems.push(`202 ${requestId} (batch ${sent?.number}) is not in the log`);
  }
  return lost.length;
}

/** Problems of one kind, of which there may be millions: how many, and the first few. */
class Listing {
  count = 0;
  readonly #what: string;
  readonly #first: string[] = [];

  constructor(what: string, lines: Iterable<string> = []) {
    this.#what = what;
    this.addAll(lines);
  }

  addAll(lines: Iterable<string>): void {
    for (const line of lines) {
      this.count += 1;
      if (this.count <= LISTED_MAX) this.#first.push(`  ${line}`);
    }
  }

  get lines(): readonly string[] {
    return this.count === 0 ? [] : [`${this.#what}: ${this.count}`, ...this.#first];
  }
}

/** A request as its parts lie in the log. */
interface StoredRequest {
  /** The batch that it says it is. */
  readonly batch: number;
  readonly records: RecordsDigest;
}

/** The log and the state, read bucket by bucket: all that is known of a record lies in the bucket of its property. */
class StoredBuckets {
  readonly requests = new Map<string, StoredRequest>();
  readonly outcomes: Record<string, number> = {};
  records = 0;
  readonly #missing = new Listing("missing in the state");
  readonly #surplus = new Listing("too much in the state");
  #versions = 0;

  async read(pool: pg.Pool, bucket: number): Promise<void> {
    const logged: JudgedRecord[] = [];
    const places = new Map<string, JudgedRecord>();
    for await (const record of readLog(pool, [bucket])) {
      this.#add(record);
      const judged = judgeLogged(record);
      logged.push(judged);
      places.set(placeOf(record), judged);
    }
    const wanted = new Set(linesOf(stateAfter(logged)));
    const observed = await readStateLines(pool, [bucket], (place) => places.get(place));
    this.#versions += observed.length;
    this.#surplus.addAll(observed.filter((line) => !wanted.delete(line)));
    this.#missing.addAll(wanted);
  }

  #add(record: LoggedRecord): void {
    const { requestId, index, json, outcome } = record;
    this.records += 1;
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
    const request = this.requests.get(requestId) ?? {
      batch: batchNumberOf(json),
      records: new RecordsDigest(),
    };
    request.records.add(index, json);
    this.requests.set(requestId, request);
  }

  get problems(): readonly string[] {
    const { a = 0, u = 0, s = 0, d = 0 } = this.outcomes;
    const problems = [...this.#missing.lines, ...this.#surplus.lines];
    if (a + u + s + d !== this.records)
      problems.push(`${this.records} records have only ${a + u + s + d} outcomes`);
    if (a + u + s !== this.#versions)
      problems.push(`${a + u + s} outcomes say that a version was made; ${this.#versions} exist`);
    return problems;
  }
}

const KEY_FIELDS = {
  inventories: "occupancyDate",
  reservations: "reservationId",
  groups: "groupCode",
} as const satisfies Record<Resource, string>;

function judgeLogged({ resource, json }: LoggedRecord): JudgedRecord {
  const fields = JSON.parse(json) as Record<string, string>;
  const { clientCode = "", propertyCode = "" } = fields;
  const key = fields[KEY_FIELDS[resource]] ?? "";
  const sourceTime = fields["createDateTime"] ?? fields["lastModifiedDateTime"] ?? "";
  return judge({ resource, clientCode, propertyCode, key, sourceTime, json });
}

/**
 * Compares the log with what was sent, and the state with the contract's model of the log in receipt order. All batches
 * must be applied. The clocks of several nodes differ by up to `clockErrorMsMax`.
 */
export async function checkLog(
  pool: pg.Pool,
  ledger: Ledger,
  { clockErrorMsMax = 0 }: { readonly clockErrorMsMax?: number } = {},
): Promise<LogFindings> {
  // First, as it analyzes the tables, without which each bucket would be read by nested loops.
  const nights = new Listing("the ledger is not the current state", await ledgerProblems(pool));
  const stored = new StoredBuckets();
  for (const bucket of ALL_BUCKETS) await stored.read(pool, bucket);
  const lost = lostRequests(stored.requests, ledger);
  const { doubled, unanswered, strangers } = traceBack(stored.requests, ledger);
  const listings = [lost, doubled, strangers, nights, orderProblems(ledger, clockErrorMsMax)];
  return {
    lost: lost.count,
    doubled: doubled.count,
    storedUnanswered: unanswered,
    storedRecords: stored.records,
    outcomes: stored.outcomes,
    problems: [...listings.flatMap(({ lines }) => lines), ...stored.problems],
  };
}

/** From the senders to the log: every 202 is there, with all its records as sent. */
function lostRequests(stored: ReadonlyMap<string, StoredRequest>, ledger: Ledger): Listing {
  const lost = new Listing("lost");
  for (const { requestId, number, records } of ledger.batches.values()) {
    if (requestId === undefined) continue;
    const found = stored.get(requestId)?.records ?? new RecordsDigest();
    if (!found.equals(records))
      lost.addAll([
        `202 ${requestId} (batch ${number}): ${found.count} of ${records.count} records, not as sent`,
      ]);
  }
  return lost;
}

/** From the log back to the senders: every stored request is a batch that was sent, whole, and each batch one request. */
function traceBack(stored: ReadonlyMap<string, StoredRequest>, ledger: Ledger) {
  const requestsOf = new Map<number, string>();
  const doubled = new Listing("doubled");
  const strangers = new Listing("in the log and never sent so");
  let unanswered = 0;
  for (const [requestId, { batch, records }] of stored) {
    const sent = ledger.batches.get(batch);
    const before = requestsOf.get(batch);
    if (before !== undefined) doubled.addAll([`batch ${batch} is stored as ${before} and as ${requestId}`]);
    requestsOf.set(batch, requestId);
    if (sent?.requestId === requestId) continue;
    unanswered += 1;
    if (sent === undefined || sent.unanswered === 0 || !records.equals(sent.records))
      strangers.addAll([`${requestId} says that it is batch ${batch}`]);
  }
  return { doubled, unanswered, strangers };
}

/** A batch that was answered before another was first sent has the smaller id, also across every restart. */
function orderProblems(ledger: Ledger, clockErrorMsMax: number): Listing {
  const bySending = ledger.answers.toSorted((left, right) => left.sentAt - right.sentAt);
  const byAnswer = ledger.answers.toSorted((left, right) => left.answeredAt - right.answeredAt);
  const problems = new Listing("out of the order of receipt");
  let greatest = "";
  let next = 0;
  for (const { requestId, sentAt } of bySending) {
    for (let earlier = byAnswer[next]; earlier && earlier.answeredAt < sentAt; earlier = byAnswer[next]) {
      if (earlier.requestId > greatest) greatest = earlier.requestId;
      next += 1;
    }
    if (
      requestId < greatest &&
      microsecondsOf(greatest) - microsecondsOf(requestId) >= clockErrorMsMax * 1_000
    )
      problems.addAll([`${requestId} was sent after ${greatest} had been answered`]);
  }
  return problems;
}
