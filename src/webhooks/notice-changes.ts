import { randomUUID } from "node:crypto";
import type pg from "pg";
import { letterOf, type Resource } from "#contract/resource.ts";
import { ALL_BUCKETS } from "../ingest/log/part-name.ts";
import { holdPrivacyVersion } from "../ingest/redact.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { Positions } from "../query/changes/change-cursor.ts";
import { ChangeCursors, type CursorSeal, readChangeEnds } from "../query/changes/change-cursor.ts";
import {
  bucketsOf,
  type ChangeFilter,
  type ChangePage,
  changeObjects,
  type GrantedProperties,
  readChanges,
} from "../query/changes/read-changes.ts";
import { pauseEndpoint } from "./endpoint.ts";
import { enqueueMessages } from "./queue.ts";

const FIND_ENDPOINTS = readStatement(new URL("./sql/find-change-endpoints.sql", import.meta.url));
/**
 * Moves the positions of endpoint $1 from $2 to $3, unless somebody has moved them since, or asks for other changes ($4 to $6)
 * than were looked for. Of several nodes at the same place one goes on: the others wait for its row, and find it moved.
 */
const MOVE_POSITIONS = namedStatement(
  "move-webhook-positions",
  `update bellhop.webhook_endpoint set positions = $3
  where endpoint_id = $1 and positions is not distinct from $2
    and resource is not distinct from $4 and client_code is not distinct from $5 and property_code is not distinct from $6`,
);

const EVENT = "changes.available";
const CHANGES_MAX = 100;
/** Of one message, unless its first change alone is longer: what a receiver reads and a node holds for each try. */
const BODY_BYTES_MAX = 262_144;
/** A record longer than this is left out of its change, to be read by its key: one of 64 MiB may have been accepted. */
const RECORD_BYTES_MAX = 262_144;
/** Where nothing of the endpoint's own was found, its positions are written down only so often. */
const WRITE_MS = 30_000;

/** What decides which changes an endpoint is told of, and how far it has been told. */
interface ChangeEndpoint {
  readonly endpointId: string;
  readonly clientId: string;
  readonly resource: Resource | null;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly positions: string | null;
  /** From before anything is read for it. */
  readonly privacyVersion: string;
  readonly grants: readonly { readonly clientCode: string; readonly propertyCode: string }[];
}

/** Where an endpoint stands, as this node knows it: at or ahead of what is stored. */
interface Known {
  readonly stored: string | null;
  readonly positions: Positions;
  readonly writtenAt: number;
}

function grantedOf({ grants }: ChangeEndpoint): GrantedProperties {
  const granted = new Map<string, Set<string>>();
  for (const { clientCode, propertyCode } of grants)
    granted.set(clientCode, (granted.get(clientCode) ?? new Set()).add(propertyCode));
  return granted;
}

function filterOf(endpoint: ChangeEndpoint): ChangeFilter {
  const { resource, clientCode, propertyCode } = endpoint;
  return {
    granted: grantedOf(endpoint),
    resources: resource === null ? undefined : [letterOf(resource)],
    clientCode: clientCode ?? undefined,
    propertyCode: propertyCode ?? undefined,
  };
}

/** The filters as the change feed's own question has them, so that a message's cursors are good there. */
function filtersOf({ clientCode, propertyCode, resource }: ChangeEndpoint): string {
  return JSON.stringify(
    Object.entries({ clientCode, propertyCode, resource }).filter(([, value]) => value !== null),
  );
}

/** A change without its record, where that is too long for a message. */
function withoutLongRecord(change: Buffer): Buffer {
  if (change.length <= RECORD_BYTES_MAX) return change;
  // Within a JSON text a quote has a backslash before it, so these bytes stand nowhere else.
  const at = change.indexOf(',"record":');
  return Buffer.concat([change.subarray(0, at), Buffer.from(',"record":null,"recordOmitted":true}')]);
}

/** Answers whether the endpoint was still as it was read: false when another node has moved it, or its owner has changed it. */
async function movePositions(on: Queryable, endpoint: ChangeEndpoint, to: string | null): Promise<boolean> {
  const { endpointId, positions, resource, clientCode, propertyCode } = endpoint;
  const values = [endpointId, positions, to, resource, clientCode, propertyCode];
  return (await on.query({ ...MOVE_POSITIONS, values })).rowCount === 1;
}

/** What one message holds: changes from the first on, up to the bound, and where the reader then stands. */
async function takeChanges(
  on: Queryable,
  page: ChangePage,
): Promise<{
  readonly changes: readonly Buffer[];
  readonly positions: Positions;
  readonly caughtUp: boolean;
}> {
  const changes: Buffer[] = [];
  // Behind the change that is looked at, and behind the last that was taken: what is no longer kept lies between them.
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
    changes.push(change);
    bytes += change.length + 1;
  }
  return { changes, positions: page.positions, caughtUp: page.caughtUp };
}

/**
 * Makes messages of changes for endpoints that want to hear of them, one at a time for each: the next one is made when the one before was
 * taken or given up, so an endpoint's queue is its position in the feed, and what it is told is in order.
 */
export class ChangeNoticer {
  readonly #pool: pg.Pool;
  readonly #cursorSeal: () => Promise<CursorSeal>;
  readonly #known = new Map<string, Known>();

  /** `cursorSeal`: what the change feed's cursors are written by. */
  constructor(pool: pg.Pool, cursorSeal: () => Promise<CursorSeal>) {
    this.#pool = pool;
    this.#cursorSeal = cursorSeal;
  }

  /** Looks once for every endpoint of these shards. Answers whether messages were queued. */
  async notice(shards: readonly number[]): Promise<boolean> {
    const { rows } = await this.#pool.query<ChangeEndpoint>({ ...FIND_ENDPOINTS, values: [shards] });
    const ids = new Set(rows.map(({ endpointId }) => endpointId));
    for (const endpointId of this.#known.keys()) if (!ids.has(endpointId)) this.#known.delete(endpointId);
    if (rows.length === 0) return false;
    const ends = await readEnds(this.#pool);
    let queued = false;
    for (const endpoint of rows) {
      const positions = this.#positionsOf(endpoint);
      const isBehind =
        positions === undefined ||
        bucketsOf(filterOf(endpoint)).some(
          (bucket) => (ends.get(bucket) ?? 0) !== (positions.get(bucket) ?? 0),
        );
      if (isBehind && (await this.#noticeFor(endpoint, positions ?? ends))) queued = true;
    }
    return queued;
  }

  /** Undefined where it has not been told anything: it begins now. */
  #positionsOf({ endpointId, positions }: ChangeEndpoint): Positions | undefined {
    const known = this.#known.get(endpointId);
    if (known !== undefined && known.stored === positions) return known.positions;
    return positions === null ? undefined : readPositions(positions);
  }

  async #noticeFor(endpoint: ChangeEndpoint, from: Positions): Promise<boolean> {
    let page: ChangePage;
    try {
      page = await readChanges(this.#pool, from, filterOf(endpoint), CHANGES_MAX);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "bellhop.feed.CursorGone") throw error;
      await this.#pauseBeyond(endpoint);
      return false;
    }
    if (page.changes.length > 0) return this.#queue(endpoint, page);
    const known = this.#known.get(endpoint.endpointId);
    const writtenAt = known?.stored === endpoint.positions ? known.writtenAt : 0;
    if (endpoint.positions === null || performance.now() - writtenAt > WRITE_MS)
      await this.#move(this.#pool, endpoint, page.positions);
    else
      this.#known.set(endpoint.endpointId, {
        stored: endpoint.positions,
        positions: page.positions,
        writtenAt,
      });
    return false;
  }

  /** The message and the position behind it, in one transaction: none is made twice or left out. */
  async #queue(endpoint: ChangeEndpoint, page: ChangePage): Promise<boolean> {
    const { endpointId, clientId } = endpoint;
    const { changes, positions, caughtUp } = await takeChanges(this.#pool, page);
    if (changes.length === 0) {
      // None of their records is kept any more.
      await this.#move(this.#pool, endpoint, positions);
      return false;
    }
    const cursors = new ChangeCursors(await this.#cursorSeal(), { clientId, filters: filtersOf(endpoint) });
    const from = cursors.write(page.before);
    const head = JSON.stringify({
      type: EVENT,
      timestamp: new Date().toISOString(),
      data: { from, to: cursors.write(positions), caughtUp },
    });
    const body = `${head.slice(0, -2)},"changes":[${Buffer.concat(changes.flatMap((change, at) => (at === 0 ? [change] : [Buffer.from(","), change]))).toString("utf8")}]}}`;
    return withTransaction(this.#pool, async (on) => {
      // An erasure may have taken out meanwhile what was read: it is read again.
      if (!(await holdPrivacyVersion(on, endpoint.privacyVersion))) return false;
      // Another node may have had the endpoint meanwhile.
      if (!(await this.#move(on, endpoint, positions))) return false;
      await enqueueMessages(on, [
        { messageId: randomUUID(), endpointId, event: EVENT, cause: from, url: null, body },
      ]);
      return true;
    });
  }

  async #move(on: Queryable, endpoint: ChangeEndpoint, to: Positions): Promise<boolean> {
    const { endpointId } = endpoint;
    const text = positionsText(to);
    if (!(await movePositions(on, endpoint, text))) {
      this.#known.delete(endpointId);
      return false;
    }
    this.#known.set(endpointId, { stored: text, positions: to, writtenAt: performance.now() });
    return true;
  }

  /** The database is not as far as the endpoint was told: it was restored, or is another. Nothing can be told in order then. */
  async #pauseBeyond(endpoint: ChangeEndpoint): Promise<void> {
    await withTransaction(this.#pool, async (on) => {
      if (await movePositions(on, endpoint, null))
        await pauseEndpoint(
          on,
          endpoint.endpointId,
          "service",
          "The change feed does not go on from where this endpoint was: read the records anew, then resume it.",
        );
    });
    this.#known.delete(endpoint.endpointId);
  }
}

/** Where the change feed ends now: who begins here is told of what comes next. */
export function readEnds(on: Queryable): Promise<Positions> {
  return readChangeEnds(on, ALL_BUCKETS);
}

/** Positions as they are stored with an endpoint. */
export function positionsText(positions: Positions): string {
  return JSON.stringify([...positions]);
}

function readPositions(text: string): Positions {
  return new Map(JSON.parse(text) as [number, number][]);
}
