import { randomUUID } from "node:crypto";
import type pg from "pg";
import { type MemberRule, rewriteMembers } from "#contract/redact-record.ts";
import { letterOf } from "#contract/resource.ts";
import { arrangeGrants, type Grant, type Grants, grantsInclude } from "../identity/grants.ts";
import { ALL_BUCKETS } from "../ingest/log/part-name.ts";
import { holdPrivacyVersion } from "../ingest/redact.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import {
  ChangeCursors,
  type CursorSecret,
  type Positions,
  readChangeEnds,
} from "../query/changes/change-cursor.ts";
import {
  bucketsOf,
  type ChangeFilter,
  type ChangePage,
  changeObjects,
  readChanges,
} from "../query/changes/read-changes.ts";
import { type EndpointSettings, PAUSE_ENDPOINT } from "./endpoint.ts";
import { enqueueMessages } from "./queue.ts";

const FIND_ENDPOINTS = readStatement(new URL("./sql/find-change-endpoints.sql", import.meta.url));
/**
 * Moves the positions of endpoint $1 from $2 to $3, unless they or its filters ($4 to $6) have changed. If several nodes try, one succeeds;
 * the others wait for the row and find it moved.
 */
const MOVE_POSITIONS = namedStatement(
  "move-webhook-positions",
  `update bellhop.webhook_endpoint set positions = $3
  where endpoint_id = $1 and positions is not distinct from $2
    and resource is not distinct from $4 and client_code is not distinct from $5 and property_code is not distinct from $6`,
);

/** The grants of client $1, which may be 20,000. */
const READ_GRANTS = namedStatement(
  "read-grants-of-webhooks",
  `select client_code as "clientCode", property_code as "propertyCode" from bellhop.client_grant where client_id = $1`,
);

const EVENT = "changes.available";
const CHANGES_MAX = 100;
/** Maximum size of a message with more than one change. */
const BODY_BYTES_MAX = 262_144;
/** Longer records (up to 64 MiB) are omitted from the change and must be read by key. */
const RECORD_BYTES_MAX = 262_144;
/** Interval for storing positions if no change matched. */
const WRITE_MS = 30_000;
/** Once the endpoints of a client have taken so long, its others wait for the next round, so that they do not delay those of others. */
const CLIENT_MS_MAX = 200;
const PAUSE_REASON =
  "The change feed cannot continue from this endpoint's position: read the records again, then resume it.";

/** An endpoint's filters and its position in the feed. */
interface ChangeEndpoint extends Pick<EndpointSettings, "resource" | "clientCode" | "propertyCode"> {
  readonly endpointId: string;
  readonly clientId: string;
  readonly positions: string | null;
  /** The privacy version before anything is read for it. */
  readonly privacyVersion: string;
}

/** An endpoint's position as known to this node: the stored one or a later one. */
interface Known {
  readonly stored: string | null;
  readonly positions: Positions;
  readonly writtenAt: number;
}

/** An endpoint that may have changes after `from`. */
interface Behind {
  readonly endpoint: ChangeEndpoint;
  readonly from: Positions;
}

/** The buckets of a filter do not depend on grants. */
const NO_GRANTS: Grants = new Map();

function filterOf({ resource, clientCode, propertyCode }: ChangeEndpoint, granted: Grants): ChangeFilter {
  return {
    granted,
    resources: resource === null ? undefined : [letterOf(resource)],
    clientCode: clientCode ?? undefined,
    propertyCode: propertyCode ?? undefined,
  };
}

/** The filters as in a query of the change feed, so that a message's cursors are valid there. */
function filtersOf({ clientCode, propertyCode, resource }: ChangeEndpoint): string {
  const filters = Object.entries({ clientCode, propertyCode, resource });
  return JSON.stringify(filters.filter(([, value]) => value !== null));
}

/** The change, without its record if that is too long for a message. */
function withoutLongRecord(change: Buffer): Buffer {
  if (change.length <= RECORD_BYTES_MAX) return change;
  return Buffer.concat([headOf(change), Buffer.from(',"record":null,"recordOmitted":true}')]);
}

/** A change up to its record. In JSON text a quote is escaped, so these bytes do not occur earlier. */
function headOf(change: Buffer): Buffer {
  return change.subarray(0, change.indexOf(',"record":'));
}

/** The message body without changes outside these grants; other bytes are unchanged. */
export function withinGrants(body: string, list: readonly Grant[]): string {
  const json = Buffer.from(body);
  const grants = arrangeGrants(list);
  const kept: Buffer[] = [];
  let isWhole = true;
  const sort = (change: Buffer) => {
    const { clientCode, propertyCode } = JSON.parse(`${headOf(change)}}`) as Grant;
    if (grantsInclude(grants, clientCode, propertyCode)) kept.push(change);
    else isWhole = false;
    return change;
  };
  const ofChanges = (rule: MemberRule) => ({
    members: new Map([["data", { members: new Map([["changes", rule]]) }]]),
  });
  rewriteMembers(json, ofChanges({ items: sort }));
  if (isWhole) return body;
  return rewriteMembers(
    json,
    ofChanges(() => Buffer.from(`[${kept.join(",")}]`)),
  ).toString("utf8");
}

/** False if another node or the owner has changed the endpoint since it was read. */
async function movePositions(on: Queryable, endpoint: ChangeEndpoint, to: string | null): Promise<boolean> {
  const { endpointId, positions, resource, clientCode, propertyCode } = endpoint;
  const values = [endpointId, positions, to, resource, clientCode, propertyCode];
  return (await on.query({ ...MOVE_POSITIONS, values })).rowCount === 1;
}

/** The changes of one message as JSON, and the positions after them. */
interface MessageChanges {
  readonly changes: readonly string[];
  readonly positions: Positions;
  readonly caughtUp: boolean;
}

async function collectChanges(on: Queryable, page: ChangePage): Promise<MessageChanges> {
  const changes: string[] = [];
  // `reached` is after the change being read, `positions` after the last one included: changes no longer retained lie between them.
  let reached: Positions = page.before;
  let positions: Positions = page.before;
  let bytes = 0;
  const noCursor = (at: Positions): undefined => {
    reached = new Map(at);
  };
  for await (const object of changeObjects(on, page, noCursor)) {
    const change = withoutLongRecord(object);
    if (changes.length > 0 && bytes + change.length > BODY_BYTES_MAX)
      return { changes, positions, caughtUp: false };
    positions = reached;
    changes.push(change.toString("utf8"));
    bytes += change.length + 1;
  }
  return { changes, positions: page.positions, caughtUp: page.caughtUp };
}

/**
 * Queues changes messages, one at a time per endpoint: the next is created once the previous one is delivered or given up. So an endpoint's
 * position in the feed is its queue, and messages are in order.
 */
export class ChangeNoticer {
  readonly #pool: pg.Pool;
  readonly #cursorSecret: () => Promise<CursorSecret>;
  readonly #known = new Map<string, Known>();
  /** The last endpoint of each client whose others wait for the next round. */
  readonly #continued = new Map<string, string>();

  constructor(pool: pg.Pool, cursorSecret: () => Promise<CursorSecret>) {
    this.#pool = pool;
    this.#cursorSecret = cursorSecret;
  }

  /** Reads the feed once for every endpoint in these shards. Returns whether messages were queued. */
  async notice(shards: readonly number[]): Promise<boolean> {
    const { rows } = await this.#pool.query<ChangeEndpoint>({ ...FIND_ENDPOINTS, values: [shards] });
    const ids = new Set(rows.map(({ endpointId }) => endpointId));
    for (const endpointId of this.#known.keys()) if (!ids.has(endpointId)) this.#known.delete(endpointId);
    for (const [clientId, last] of this.#continued) if (!ids.has(last)) this.#continued.delete(clientId);
    if (rows.length === 0) return false;
    const ends = await readEnds(this.#pool);
    const behind = rows.flatMap((endpoint) => {
      const positions = this.#positionsOf(endpoint);
      const isAtEnd = (bucket: number) => (ends.get(bucket) ?? 0) === (positions?.get(bucket) ?? 0);
      const isDone = positions !== undefined && bucketsOf(filterOf(endpoint, NO_GRANTS)).every(isAtEnd);
      return isDone ? [] : [{ endpoint, from: positions ?? ends }];
    });
    let queued = false;
    for (const [clientId, own] of Map.groupBy(behind, ({ endpoint }) => endpoint.clientId))
      if (await this.#noticeForClient(clientId, own)) queued = true;
    return queued;
  }

  async #noticeForClient(clientId: string, own: readonly Behind[]): Promise<boolean> {
    const begunAt = performance.now();
    const { rows } = await this.#pool.query<Grant>({ ...READ_GRANTS, values: [clientId] });
    const granted = arrangeGrants(rows);
    const last = this.#continued.get(clientId) ?? "";
    this.#continued.delete(clientId);
    const isLater = ({ endpoint }: Behind) => endpoint.endpointId > last;
    let queued = false;
    for (const { endpoint, from } of [...own.filter(isLater), ...own.filter((one) => !isLater(one))]) {
      if (await this.#noticeFor(endpoint, from, granted)) queued = true;
      if (performance.now() - begunAt < CLIENT_MS_MAX) continue;
      this.#continued.set(clientId, endpoint.endpointId);
      break;
    }
    return queued;
  }

  /** Undefined if the endpoint has no position yet: it starts at the end of the feed. */
  #positionsOf({ endpointId, positions }: ChangeEndpoint): Positions | undefined {
    const known = this.#known.get(endpointId);
    if (known !== undefined && known.stored === positions) return known.positions;
    return positions === null ? undefined : new Map(JSON.parse(positions) as [number, number][]);
  }

  async #noticeFor(endpoint: ChangeEndpoint, from: Positions, granted: Grants): Promise<boolean> {
    const { endpointId, positions: stored } = endpoint;
    let page: ChangePage;
    try {
      page = await readChanges(this.#pool, from, filterOf(endpoint, granted), CHANGES_MAX);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "bellhop.feed.CursorGone") throw error;
      await this.#pauseAtFeedEnd(endpoint);
      return false;
    }
    if (page.changes.length > 0) return this.#queue(endpoint, page);
    const known = this.#known.get(endpointId);
    const writtenAt = known?.stored === stored ? known.writtenAt : 0;
    if (stored === null || performance.now() - writtenAt > WRITE_MS)
      await this.#move(this.#pool, endpoint, page.positions);
    else this.#known.set(endpointId, { stored, positions: page.positions, writtenAt });
    return false;
  }

  /** Stores the message and the position after it in one transaction, so that none is duplicated or lost. */
  async #queue(endpoint: ChangeEndpoint, page: ChangePage): Promise<boolean> {
    const { endpointId, clientId } = endpoint;
    const { changes, positions, caughtUp } = await collectChanges(this.#pool, page);
    if (changes.length === 0) {
      // No change's record is retained.
      await this.#move(this.#pool, endpoint, positions);
      return false;
    }
    const cursors = new ChangeCursors(await this.#cursorSecret(), { clientId, filters: filtersOf(endpoint) });
    const from = cursors.write(page.before);
    const data = { from, to: cursors.write(positions), caughtUp };
    const head = JSON.stringify({ type: EVENT, timestamp: new Date().toISOString(), data });
    const body = `${head.slice(0, -2)},"changes":[${changes.join(",")}]}}`;
    return withTransaction(this.#pool, async (on) => {
      // An erasure may have changed the data, or another node moved the endpoint: read both again.
      if (!(await holdPrivacyVersion(on, endpoint.privacyVersion))) return false;
      if (!(await this.#move(on, endpoint, positions))) return false;
      const message = {
        messageId: randomUUID(),
        endpointId,
        event: EVENT,
        cause: from,
        url: null,
        body,
      } as const;
      await enqueueMessages(on, [message]);
      return true;
    });
  }

  async #move(on: Queryable, endpoint: ChangeEndpoint, positions: Positions): Promise<boolean> {
    const { endpointId } = endpoint;
    const stored = positionsText(positions);
    const isMoved = await movePositions(on, endpoint, stored);
    if (isMoved) this.#known.set(endpointId, { stored, positions, writtenAt: performance.now() });
    else this.#known.delete(endpointId);
    return isMoved;
  }

  /** Pauses an endpoint whose position is beyond the end of the feed, as after a restore. */
  async #pauseAtFeedEnd(endpoint: ChangeEndpoint): Promise<void> {
    const values = [endpoint.endpointId, "service", PAUSE_REASON];
    await withTransaction(this.#pool, async (on) => {
      if (await movePositions(on, endpoint, null)) await on.query({ ...PAUSE_ENDPOINT, values });
    });
    this.#known.delete(endpoint.endpointId);
  }
}

/** The end of the change feed, where a new endpoint starts. */
export function readEnds(on: Queryable): Promise<Positions> {
  return readChangeEnds(on, ALL_BUCKETS);
}

/** Positions as stored with an endpoint. */
export function positionsText(positions: Positions): string {
  return JSON.stringify([...positions]);
}
