import type { Group, Inventory, Reservation } from "./api-types.ts";
import { apiPath, type Connection } from "./connection.ts";
import { pause, readText, unexpectedAnswer } from "./http.ts";
import { type Resource, readWhole } from "./options.ts";

export interface ChangesQuery {
  /** The `cursor` of the last handled change; default: from the beginning. */
  readonly cursor?: string | undefined;
  /** `"now"` skips existing changes; not together with a cursor. */
  readonly from?: "now" | undefined;
  readonly resource?: Resource | undefined;
  readonly clientCode?: string | undefined;
  readonly propertyCode?: string | undefined;
  /** Changes per response, 1 to 10,000; default 500. A response is held in memory. */
  readonly limit?: number | undefined;
  /** Seconds of long polling, 0 to 30; default 25. */
  readonly wait?: number | undefined;
  /** Stops at the end of the feed. */
  readonly untilCaughtUp?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after every response, even without a change. */
  readonly onCursor?: ((position: FeedPosition) => void | Promise<void>) | undefined;
}

export interface FeedPosition {
  readonly cursor: string;
  /** The end of the feed was reached. */
  readonly caughtUp: boolean;
}

const ANSWER_BYTES_MAX = 268_435_456;
/** Minimum pause between polls at the end of the feed. */
const QUESTION_MS_MIN = 500;

interface Answer {
  readonly changes: readonly Omit<Change, "cursor">[];
  readonly cursors: readonly (string | undefined)[];
  readonly position: FeedPosition;
}

type Line =
  | ({ readonly type: "change"; readonly cursor?: string } & Omit<Change, "cursor">)
  | { readonly type: "cursor"; readonly cursor: string; readonly caughtUp: boolean };

async function readAnswer(response: Response): Promise<Answer> {
  const text = await readText(response, ANSWER_BYTES_MAX);
  const changes: Omit<Change, "cursor">[] = [];
  const cursors: (string | undefined)[] = [];
  let position: FeedPosition | undefined;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const read = parseLine(line, response);
    if (read.type === "change") {
      const { type: _, cursor, ...change } = read;
      changes.push(change);
      cursors.push(cursor);
    } else if (read.type === "cursor") position = { cursor: read.cursor, caughtUp: read.caughtUp };
  }
  if (position === undefined) throw unexpectedAnswer("The answer of the feed was cut off.", response);
  return { changes, cursors, position };
}

function parseLine(line: string, response: Response): Line {
  try {
    return JSON.parse(line) as Line;
  } catch (cause) {
    throw unexpectedAnswer("The answer of the feed was cut off.", response, cause);
  }
}

/** Follows the change feed: every change of current state, per record in order. */
export async function* followChanges(
  connection: Connection,
  query: ChangesQuery,
): AsyncGenerator<Change, void, undefined> {
  const { resource, clientCode, propertyCode, signal, onCursor, untilCaughtUp = false } = query;
  const limit = readWhole("limit", query.limit, { min: 1, max: 10_000, fallback: 500 });
  const longestS = readWhole("wait", query.wait, { min: 0, max: 30, fallback: 25 });
  const wait = untilCaughtUp ? 0 : longestS;
  let cursor = query.cursor;
  for (;;) {
    const from = cursor === undefined ? query.from : undefined;
    const path = apiPath("changes", { cursor, from, limit, wait, resource, clientCode, propertyCode });
    const headers = { accept: "application/x-ndjson" };
    const askedAt = performance.now();
    const answer: Answer = await connection.ask({ path, headers, signal, waitMs: wait * 1000 }, readAnswer);
    const last = answer.changes.length - 1;
    for (const [at, change] of answer.changes.entries()) {
      // A change without its own cursor resumes at the start of its response; the last change resumes after the
      // response.
      const behind = answer.cursors[at] ?? (at === last ? answer.position.cursor : cursor);
      yield { ...change, cursor: behind };
    }
    cursor = answer.position.cursor;
    await onCursor?.(answer.position);
    if (!answer.position.caughtUp) continue;
    if (untilCaughtUp) return;
    await pause(askedAt + QUESTION_MS_MIN - performance.now(), signal);
  }
}

/** One change of current state. */
export interface Change<Of = Inventory | Reservation | Group> {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** The occupancyDate, reservationId or groupCode. */
  readonly key: string;
  /** The record's createDateTime or lastModifiedDateTime. */
  readonly sourceTime: string;
  readonly receivedAt: string;
  /** The request id of the batch, and the index in it. */
  readonly requestId: string;
  readonly index: number;
  readonly change: "created" | "updated";
  /** The record verbatim. */
  readonly record: Of;
  /** Resumes after this change: store it once the change is handled. Undefined: resume from the beginning. */
  readonly cursor: string | undefined;
}
