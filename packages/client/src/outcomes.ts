import type { RecordOutcome, RequestStatus } from "./api-types.ts";
import { apiPath, type Connection } from "./connection.ts";
import type { Accepted, FaultyRequest } from "./delivery.ts";
import { ofRecord, pause, readJson } from "./http.ts";
import type { RefusedRecord, WarnedRecord } from "./report.ts";

const ANSWER_BYTES_MAX = 67_108_864;
/** The service's maximum for `Prefer: wait` (docs/reading.md). */
const WAIT_S_MAX = 10;
/** The minimum interval of polling a service that does not wait. */
const QUESTION_MS_MIN = 500;

/** The records to list: those with this outcome, or `all`. By default those that were not applied or have warnings. */
export type ListedOutcome = RecordOutcome["outcome"] | "all";

export interface StatusQuery {
  readonly outcome?: ListedOutcome | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  /** Seconds to wait for the request to be applied, 0 to 10. */
  readonly waitSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function readStatus(
  connection: Connection,
  requestId: string,
  { outcome, limit, cursor, waitSeconds = 0, signal }: StatusQuery = {},
  watched?: FaultyRequest,
): Promise<RequestStatus> {
  return connection.ask(
    {
      path: apiPath(`requests/${encodeURIComponent(requestId)}`, { outcome, limit, cursor }),
      headers: waitSeconds === 0 ? {} : { prefer: `wait=${waitSeconds}` },
      waitMs: waitSeconds * 1000,
      signal,
      patienceMsOf: watched?.patienceMsOf,
    },
    (response) => readJson<RequestStatus>(response, ANSWER_BYTES_MAX),
  );
}

/** Polls until a request is applied or `withinMs` has passed. */
export async function waitUntilApplied(
  connection: Connection,
  requestId: string,
  withinMs: number,
  { limit, signal }: Omit<StatusQuery, "waitSeconds" | "cursor"> = {},
  watched?: FaultyRequest,
): Promise<RequestStatus> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    const leftS = Math.ceil((endsAt - performance.now()) / 1000);
    const waitSeconds = Math.min(WAIT_S_MAX, Math.max(0, leftS));
    const askedAt = performance.now();
    const status = await readStatus(connection, requestId, { limit, waitSeconds, signal }, watched);
    if (status.status === "applied" || performance.now() >= endsAt) return status;
    await pause(askedAt + QUESTION_MS_MIN - performance.now(), signal);
  }
}

export async function* listOutcomes(
  connection: Connection,
  requestId: string,
  { outcome, signal }: Pick<StatusQuery, "outcome" | "signal"> = {},
  watched?: FaultyRequest,
): AsyncGenerator<RecordOutcome, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await readStatus(connection, requestId, { outcome, limit: 1000, cursor, signal }, watched);
    yield* page.records;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** Outcomes after which nothing remains to be done. One that this client does not know is reported as not applied. */
const SETTLED: ReadonlySet<string> = new Set<RecordOutcome["outcome"]>([
  "applied",
  "unchanged",
  "stale",
  "duplicate",
]);

/** Counts that are not of refused records. */
const NOT_REFUSED: ReadonlySet<string> = new Set([...SETTLED, "records", "pending", "warned"]);

/** Whether records of a request were not applied, also by an outcome that this client does not know. */
export function hasRefused(counts: RequestStatus["counts"]): boolean {
  return Object.entries(counts).some(([name, count]) => count > 0 && !NOT_REFUSED.has(name));
}

/** The records of an accepted batch that were not applied, and those with warnings. */
export async function* listNotable(
  connection: Connection,
  { requestId, batch }: Accepted,
  signal: AbortSignal,
  watched: FaultyRequest,
): AsyncGenerator<RefusedRecord | WarnedRecord, void, undefined> {
  const items = batch.items();
  for await (const { index: at, outcome, code, message, warnings = [], violations = [] } of listOutcomes(
    connection,
    requestId,
    { signal },
    watched,
  )) {
    const item = items[at];
    if (item === undefined) continue;
    const { index, record } = item;
    if (warnings.length > 0) {
      const own = warnings.map((one) => ({ ...one, pointer: one.pointer.replace(/^\/\d+/, "") }));
      yield { index, record, warnings: own, requestId };
    }
    if (SETTLED.has(outcome)) continue;
    const own = violations.flatMap(ofRecord).map((violation) => ({ ...violation, index, record }));
    yield {
      index,
      record,
      outcome,
      code: code ?? own[0]?.code ?? outcome,
      message: message ?? own[0]?.message ?? outcome,
      violations: own,
      requestId,
    };
  }
}
