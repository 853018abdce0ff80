import type pg from "pg";
import { microsecondsOf } from "../../src/ingest/log/part-name.ts";
import { linesOf, stateAfter } from "../workload/expected-state.ts";
import { ledgerProblems } from "../workload/observed-ledger.ts";
import { readStateLines } from "../workload/observed-state.ts";
import type { Ledger } from "./ledger.ts";
import { readStoredRecords, type StoredRecord } from "./stored-records.ts";

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
    ledger.problems.push(`202 ${requestId} (batch ${sent?.batch.number}) is not in the log`);
  }
  return lost.length;
}

/**
 * Compares the whole log with what was sent, and the state with the contract's model of the log in the order of
 * receipt. Everything has been applied before. Several nodes order what they accept by clocks that differ by as much as
 * `clockErrorMsMax`.
 */
export async function checkLog(
  pool: pg.Pool,
  ledger: Ledger,
  { clockErrorMsMax = 0 }: { readonly clockErrorMsMax?: number } = {},
): Promise<LogFindings> {
  const logged = await readStoredRecords(pool);
  const stored = Map.groupBy(logged, ({ requestId }) => requestId);
  const lost: string[] = [];
  for (const sent of ledger.batches.values()) {
    if (sent.requestId === undefined) continue;
    const records = stored.get(sent.requestId) ?? [];
    const asSent = records.map(({ json }) => json).join() === sent.batch.records.join();
    if (!asSent)
      lost.push(
        `202 ${sent.requestId} (batch ${sent.batch.number}): ${records.length} of ${sent.batch.records.length} records, not as sent`,
      );
  }
  const { doubled, unanswered, strangers } = traceBack(stored, ledger);
  const places = new Set(logged.map(placeOf));
  const problems = [
    ...listed("lost", lost),
    ...listed("doubled", doubled),
    ...listed("in the log and never sent so", strangers),
    ...(places.size === logged.length
      ? []
      : [`${logged.length - places.size} records lie twice in one request`]),
    ...(await stateProblems(pool, logged)),
    ...orderProblems(ledger, clockErrorMsMax),
  ];
  return {
    lost: lost.length,
    doubled: doubled.length,
    storedUnanswered: unanswered,
    storedRecords: logged.length,
    outcomes: countOutcomes(logged),
    problems,
  };
}

/** By which the state points to a record of the log. */
function placeOf({ requestId, index }: StoredRecord): string {
  return `${requestId}/${index}`;
}

/** From the log back to the senders: every stored request is a batch that was sent, whole, and each batch one request. */
function traceBack(stored: ReadonlyMap<string, readonly StoredRecord[]>, ledger: Ledger) {
  const requestsOf = new Map<number, string>();
  const doubled: string[] = [];
  const strangers: string[] = [];
  let unanswered = 0;
  for (const [requestId, records] of stored) {
    const number = records[0]?.batch ?? Number.NaN;
    const sent = ledger.batches.get(number);
    const before = requestsOf.get(number);
    if (before !== undefined) doubled.push(`batch ${number} is stored as ${before} and as ${requestId}`);
    requestsOf.set(number, requestId);
    if (sent?.requestId === requestId) continue;
    unanswered += 1;
    const asSent = records.map(({ json }) => json).join() === sent?.batch.records.join();
    if (sent === undefined || sent.unanswered === 0 || !asSent)
      strangers.push(`${requestId} says that it is batch ${number}`);
  }
  return { doubled, unanswered, strangers };
}

async function stateProblems(pool: pg.Pool, logged: readonly StoredRecord[]): Promise<string[]> {
  const places = new Map(logged.map((record) => [placeOf(record), record]));
  const observed = await readStateLines(pool, (place) => places.get(place));
  const expected = linesOf(stateAfter(logged));
  const [wanted, found] = [new Set(expected), new Set(observed)];
  const problems = [
    ...listed("the ledger is not the current state", await ledgerProblems(pool)),
    ...listed(
      "missing in the state",
      expected.filter((line) => !found.has(line)),
    ),
    ...listed(
      "too much in the state",
      observed.filter((line) => !wanted.has(line)),
    ),
  ];
  if (observed.length !== expected.length)
    problems.push(`${observed.length} versions in the state, ${expected.length} expected`);
  const { a = 0, u = 0, s = 0, d = 0 } = countOutcomes(logged);
  if (a + u + s + d !== logged.length)
    problems.push(`${logged.length} records have only ${a + u + s + d} outcomes`);
  if (a + u + s !== observed.length)
    problems.push(`${a + u + s} outcomes say that a version was made; ${observed.length} exist`);
  return problems;
}

function countOutcomes(logged: readonly StoredRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of logged) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** A batch that was answered before another was first sent has the smaller id, also across every restart. */
function orderProblems(ledger: Ledger, clockErrorMsMax: number): string[] {
  const bySending = ledger.answers.toSorted((left, right) => left.sentAt - right.sentAt);
  const byAnswer = ledger.answers.toSorted((left, right) => left.answeredAt - right.answeredAt);
  const problems: string[] = [];
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
      problems.push(`${requestId} was sent after ${greatest} had been answered`);
  }
  return listed("out of the order of receipt", problems);
}

function listed(what: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [`${what}: ${lines.length}`, ...lines.slice(0, LISTED_MAX).map((line) => `  ${line}`)];
}
