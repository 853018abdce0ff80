import { letterOf } from "#contract/resource.ts";
import { authorizeAgain, lacksGrant } from "../../identity/authorize.ts";
import type { Principal } from "../../identity/permissions.ts";
import { ALL_BUCKETS } from "../../ingest/log/part-name.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import type { ValuesOf } from "../../platform/http/parameters.ts";
import { invalidParameter } from "../../platform/http/read-parameters.ts";
import { Repeat } from "../../platform/runtime/repeat.ts";
import { currentWaits } from "../../platform/telemetry/log.ts";
import { endpointOf } from "../endpoint.ts";
import { CHANGE_LINES, CHANGE_PARAMETERS } from "../openapi/change-schemas.ts";
import { mayRead, type ReadContext } from "../property.ts";
import { sendPage } from "../read-page.ts";
import {
  BEGINNING,
  ChangeCursors,
  type Positions,
  readChangeEnds,
  readCursorEpoch,
} from "./change-cursor.ts";
import { bucketsOf, type ChangeFilter, type ChangePage, changeObjects, readChanges } from "./read-changes.ts";

/** Polling interval of the counters while readers wait: one query for all readers, about 0.3 ms. */
const POLL_MS = 100;
/** Concurrent waiting readers, in total and per client; others are answered at once. */
const WAITING_MAX = 1_000;
const WAITING_OF_ONE_MAX = 100;

interface Wait {
  /** The client, for the limit per client. */
  readonly who: string;
  /** A change after these positions wakes the reader. */
  readonly positions: Positions;
  readonly waitMsMax: number;
  /** Minimum wait, for a reader woken by changes that its filter excluded. */
  readonly waitMsMin?: number;
  readonly signal?: AbortSignal;
}

interface Waiter {
  readonly positions: Positions;
  readonly notBefore: number;
  wake(): void;
}

/** Wakes readers of the feed that wait for changes: one query every 100 ms for all of them, none while nobody waits. */
export class ChangeWatch {
  readonly #on: Queryable;
  readonly #waiters = new Set<Waiter>();
  readonly #waitingOf = new Map<string, number>();
  readonly #polling: Repeat;
  #isOver = false;

  constructor(on: Queryable) {
    this.#on = on;
    this.#polling = new Repeat(
      () => this.#look(),
      POLL_MS,
      () => this.#wakeAll(),
    );
  }

  /**
   * Resolves to true if there may be changes, the time is over, or the database fails; false if too many wait, `signal` aborts, or the
   * watch has ended.
   */
  async wait({ who, positions, waitMsMax, waitMsMin = 0, signal }: Wait): Promise<boolean> {
    const ofWho = this.#waitingOf.get(who) ?? 0;
    const isFull = this.#waiters.size >= WAITING_MAX || ofWho >= WAITING_OF_ONE_MAX;
    if (isFull || this.#isCancelled(signal)) return false;
    this.#waitingOf.set(who, ofWho + 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { positions, notBefore: performance.now() + waitMsMin, wake: () => resolve() };
    const timeout = setTimeout(waiter.wake, waitMsMax);
    signal?.addEventListener("abort", waiter.wake);
    this.#waiters.add(waiter);
    const waits = currentWaits();
    const beganAt = performance.now();
    await promise;
    if (waits !== undefined) waits.asked += performance.now() - beganAt;
    clearTimeout(timeout);
    signal?.removeEventListener("abort", waiter.wake);
    this.#waiters.delete(waiter);
    const left = (this.#waitingOf.get(who) ?? 1) - 1;
    if (left > 0) this.#waitingOf.set(who, left);
    else this.#waitingOf.delete(who);
    return !this.#isCancelled(signal);
  }

  #isCancelled(signal: AbortSignal | undefined): boolean {
    return this.#isOver || signal?.aborted === true;
  }

  /** Wakes all readers and accepts no new ones. */
  end(): Promise<void> {
    this.#isOver = true;
    this.#wakeAll();
    return this.#polling.stop();
  }

  #wakeAll(): void {
    for (const { wake } of this.#waiters) wake();
  }

  async #look(): Promise<void> {
    if (this.#waiters.size === 0) return;
    const ends = await readChangeEnds(this.#on, ALL_BUCKETS);
    const now = performance.now();
    for (const { positions, notBefore, wake } of this.#waiters)
      if (notBefore <= now && isBehind(positions, ends)) wake();
  }
}

function isBehind(positions: Positions, ends: Positions): boolean {
  for (const [bucket, position] of positions) if ((ends.get(bucket) ?? 0) > position) return true;
  return false;
}

const READ_AT_ONCE = 1_000;
/** Maximum calls per answer, for filters that match little. */
const CALLS_MAX = 20;
/** Minimum wait of a reader woken by changes that its filter excluded; doubled each time. */
const WOKEN_MS_MIN = 100;
const WOKEN_MS_MAX = 1_000;

interface Following {
  readonly who: string;
  readonly from: Positions;
  readonly limit: number;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The filter with the current grants, which may change while the reader waits. Throws EmptyRefusal if access was revoked. */
  filterNow(): Promise<ChangeFilter>;
}

/** The first page of an answer after `from`, and the filter that selected it. */
interface FollowedStart {
  readonly from: Positions;
  readonly page: ChangePage;
  readonly filter: ChangeFilter;
}

type FollowedEnd = Pick<ChangePage, "positions" | "caughtUp">;

/** The next changes, after a wait if there are none. */
async function awaitChanges(
  on: Queryable,
  watch: ChangeWatch,
  { who, from, limit, waitMs, signal, filterNow }: Following,
): Promise<FollowedStart> {
  const until = performance.now() + waitMs;
  let positions = from;
  let waitMsMin = 0;
  for (;;) {
    const filter = await filterNow();
    const page = await readChanges(on, positions, filter, Math.min(limit, READ_AT_ONCE));
    const waitMsMax = until - performance.now();
    if (page.changes.length > 0 || !page.caughtUp || waitMsMax <= 0) return { from: positions, page, filter };
    if (!(await watch.wait({ who, positions: page.positions, waitMsMax, waitMsMin, signal })))
      return { from: positions, page, filter };
    positions = page.positions;
    waitMsMin = Math.min(WOKEN_MS_MAX, Math.max(WOKEN_MS_MIN, 2 * waitMsMin));
  }
}

/**
 * Yields at most `limit` changes as JSON objects with cursors; returns the position at the end. Reads pages on demand, each with the
 * filter as of then; the first again if the grants changed after it was read.
 */
async function* followChanges(
  on: Queryable,
  { from, page: first, filter }: FollowedStart,
  limit: number,
  filterNow: () => Promise<ChangeFilter>,
  cursorAt: (positions: Positions) => string,
): AsyncGenerator<Buffer, FollowedEnd> {
  const read = (after: Positions, by: ChangeFilter, most: number) =>
    readChanges(on, after, by, Math.min(most, READ_AT_ONCE));
  const now = await filterNow();
  let page = now.granted === filter.granted ? first : await read(from, now, limit);
  let left = limit;
  for (let call = 1; ; call += 1) {
    yield* changeObjects(on, page, cursorAt);
    left -= page.changes.length;
    if (page.caughtUp || left <= 0 || call === CALLS_MAX) return page;
    page = await read(page.positions, await filterNow(), left);
  }
}

type ChangeParameters = ValuesOf<typeof CHANGE_PARAMETERS>;

function filterOf(
  { resource, clientCode, propertyCode }: ChangeParameters,
  { grants }: Principal,
): ChangeFilter {
  const filter: ChangeFilter = {
    granted: grants,
    resources: resource === undefined ? undefined : [letterOf(resource)],
    clientCode,
    propertyCode,
  };
  if (filter.propertyCode !== undefined && filter.clientCode === undefined)
    throw invalidParameter("propertyCode requires its clientCode.");
  return filter;
}

/** Whether the requested property is granted. Without a requested property, the feed omits properties that are not granted. */
async function mayAsk(context: ReadContext, principal: Principal, filter: ChangeFilter): Promise<boolean> {
  const { clientCode, propertyCode } = filter;
  if (clientCode === undefined) return true;
  if (propertyCode === undefined && principal.grants.has(clientCode)) return true;
  return mayRead(context, principal, { clientCode, propertyCode: propertyCode ?? "*" });
}

async function startOf(
  context: ReadContext,
  { cursor, from }: ChangeParameters,
  filter: ChangeFilter,
  cursors: ChangeCursors,
): Promise<Positions> {
  const isFromNow = from === "now";
  if (cursor === undefined) return isFromNow ? readChangeEnds(context.pool, bucketsOf(filter)) : BEGINNING;
  if (isFromNow) throw invalidParameter("from=now starts a new feed: omit it with a cursor.");
  const start = cursors.read(cursor);
  if (start === undefined)
    throw invalidParameter("cursor takes the cursor of a line that answered this same query.");
  if (start === "former") throw new ServiceError("bellhop.feed.CursorGone");
  return start;
}

interface ChangeContext extends ReadContext {
  readonly watch: ChangeWatch;
}

/** `GET /api/public/v1/changes`: the change feed (docs/changes.md). */
const changeFeed = endpointOf<ChangeContext>()({
  method: "get",
  path: "/api/public/v1/changes",
  tag: "Changes",
  scopes: ["read"],
  operationId: "listChanges",
  summary: "Follow the change feed",
  description:
    "Every change of a current record that this client may read, as lines of JSON (NDJSON). Changes of one record come in the order in which they were applied, each exactly once after a cursor. A record that is sent again unchanged, late or twice is no change. The last line has the cursor to continue from.",
  parameters: CHANGE_PARAMETERS,
  answer: CHANGE_LINES,
  refusals: { 400: "InvalidParameter", 410: "CursorGone" },
  async work({ context, request, reply, principal, clientId, parameters, filtersWithout }) {
    const { pool, watch } = context;
    const { limit, wait } = parameters;
    const filter = filterOf(parameters, principal);
    const requireGrant = async (current: Principal) => {
      if (!(await mayAsk(context, current, filter)))
        throw lacksGrant(filter.clientCode ?? "*", filter.propertyCode ?? "*");
    };
    await requireGrant(principal);
    const filters = filtersWithout("cursor", "from", "limit", "wait");
    const secret = { key: context.cursorKey, epoch: await readCursorEpoch(pool) };
    const cursors = new ChangeCursors(secret, { clientId, filters });
    const filterNow = async () => {
      const current = await authorizeAgain(context, request);
      await requireGrant(current);
      return { ...filter, granted: current.grants };
    };
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const start = await awaitChanges(pool, watch, {
      who: clientId,
      from: await startOf(context, parameters, filter, cursors),
      limit,
      waitMs: request.method === "HEAD" ? 0 : wait * 1_000,
      signal: gone.signal,
      filterNow,
    });
    return sendPage<FollowedEnd>(
      reply,
      followChanges(pool, start, limit, filterNow, (at) => cursors.write(at)),
      {
        head: "",
        asLines: true,
        tail: ({ positions, caughtUp }) =>
          `${JSON.stringify({ type: "cursor", cursor: cursors.write(positions), caughtUp })}\n`,
        authorizeAgain: async () => void (await filterNow()),
      },
    );
  },
});

export const CHANGE_ENDPOINTS = [changeFeed];
