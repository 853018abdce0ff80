import { randomUUID } from "node:crypto";
import type pg from "pg";
import { ALL_BUCKETS } from "../ingest/log/part-name.ts";
import { holdPrivacyVersion, readPrivacyVersion } from "../ingest/redact.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { type FoundRequest, type RequestSummary, readSummariesOf } from "../query/request-summary.ts";
import { bodyOf, messageIdFor, type NewMessage } from "./message.ts";
import { enqueueMessages, SHARDS } from "./queue.ts";
import { putSecret } from "./secrets.ts";

/** At most $2 applied parts of the buckets $1 without a message yet. */
const FIND_PARTS = namedStatement(
  "find-applied-parts",
  `select bucket, request_id as "requestId", client_id as "clientId"
  from bellhop.applied_part
  where bucket = any ($1::smallint[])
  order by bucket, request_id
  limit $2`,
);
/** Deletes the parts $2 of bucket $1; returns the requests of those that still existed. */
const DELETE_PARTS = namedStatement(
  "forget-applied-parts",
  `delete from bellhop.applied_part
  where bucket = $1 and request_id = any ($2::uuid[])
  returning request_id as "requestId"`,
);
/** The clients' ($1) endpoints and ReplyTo origins for applied requests. */
const FIND_LISTENERS = namedStatement(
  "find-applied-listeners",
  `select
    client.client_id as "clientId", client.reply_to_origins as "replyToOrigins",
    array(
      select endpoint.endpoint_id from bellhop.webhook_endpoint as endpoint
      where endpoint.client_id = client.client_id and endpoint.kind = 'w' and 'request.applied' = any (endpoint.events)
    ) as "endpointIds"
  from bellhop.client as client
  where client.client_id = any ($1::text[]) and client.revoked_at is null`,
);
/** Whether any client subscribes to applied requests. */
const HAS_LISTENERS = namedStatement(
  "has-applied-listeners",
  `select exists (select from bellhop.client where reply_to_origins <> '{}')
    or exists (select from bellhop.webhook_endpoint where 'request.applied' = any (events)) as has`,
);
/** The endpoint for the ReplyTo origin $3 of client $2: the existing one, or a new one with id $1. */
const ADD_REPLY_TO = namedStatement(
  "add-reply-to-endpoint",
  `with added as (
    insert into bellhop.webhook_endpoint (endpoint_id, kind, client_id, url, events, shard)
    values ($1, 'r', $2, $3, array['request.applied'], get_byte(uuid_send($1::uuid), 15) % 16)
    on conflict (client_id, url) where kind = 'r' do nothing
    returning endpoint_id
  )
  select endpoint_id as "endpointId", true as "isNew" from added
  union all
  select endpoint_id, false from bellhop.webhook_endpoint where client_id = $2 and url = $3 and kind = 'r'`,
);

const EVENT = "request.applied";
/** Parts read by one statement: their summaries take the database about 60 ms. */
const PARTS_AT_ONCE = 500;

interface AppliedPart {
  readonly bucket: number;
  readonly requestId: string;
  readonly clientId: string;
}

interface Listener {
  readonly clientId: string;
  readonly endpointIds: readonly string[];
  readonly replyToOrigins: readonly string[];
}

/** Whether anyone subscribes. Checked first to avoid reading all buckets, which with Citus takes a statement per shard. */
export async function hasListeners(pool: pg.Pool): Promise<boolean> {
  return (await pool.query<{ has: boolean }>(HAS_LISTENERS)).rows[0]?.has === true;
}

/**
 * Queues messages for applied requests in the buckets of these shards. The transaction that applies a part inserts its row; the one that
 * queues the messages deletes all rows of the request. Rows are read before the requests, so the last of several parts finds its request
 * applied. `found`: there were parts, and there may be more. `queued`: messages were queued.
 */
export async function noticeApplied(
  pool: pg.Pool,
  cipher: SecretCipher,
  shards: readonly number[],
): Promise<{ readonly found: boolean; readonly queued: boolean }> {
  const buckets = ALL_BUCKETS.filter((bucket) => shards.includes(bucket % SHARDS));
  const { rows: parts } = await pool.query<AppliedPart>({ ...FIND_PARTS, values: [buckets, PARTS_AT_ONCE] });
  if (parts.length === 0) return { found: false, queued: false };
  const privacyVersion = await readPrivacyVersion(pool);
  const requests = [...new Map(parts.map((part) => [part.requestId, part])).values()];
  const found = await readSummariesOf(pool, requests);
  const applied = found.filter(({ summary }) => summary.status === "applied");
  const clientIds = [...new Set(requests.map(({ clientId }) => clientId))];
  const { rows } = await pool.query<Listener>({ ...FIND_LISTENERS, values: [clientIds] });
  const listeners = new Map(rows.map((listener) => [listener.clientId, listener]));
  const queued = await withTransaction(pool, async (on) => {
    // An erasure may have changed the log since it was read: read the summaries again.
    if (!(await holdPrivacyVersion(on, privacyVersion))) return false;
    const messages: NewMessage[] = [];
    const forgotten = await deleteParts(on, parts, applied);
    for (const { summary, clientId } of applied) {
      const listener = listeners.get(clientId);
      if (listener === undefined || !forgotten.has(summary.requestId)) continue;
      for (const endpointId of listener.endpointIds) messages.push(messageOf(endpointId, summary, null));
      const replyTo = await replyToEndpointOf(on, cipher, listener, summary);
      if (replyTo !== undefined) messages.push(messageOf(replyTo, summary, summary.replyTo));
    }
    await enqueueMessages(on, messages);
    return messages.length > 0;
  });
  return { found: true, queued };
}

/**
 * Deletes these rows and all others of the applied requests; returns the requests for which no other node has queued messages. Processes
 * buckets in order, so that nodes with rows of the same request cannot deadlock.
 */
async function deleteParts(
  on: Queryable,
  parts: readonly AppliedPart[],
  applied: readonly FoundRequest[],
): Promise<ReadonlySet<string>> {
  const others = applied.flatMap(({ buckets, summary: { requestId } }) =>
    buckets.map((bucket) => ({ bucket, requestId })),
  );
  const inOrder = [...parts, ...others].sort((left, right) => left.bucket - right.bucket);
  const forgotten = new Set<string>();
  for (const [bucket, of] of Map.groupBy(inOrder, (part) => part.bucket)) {
    const values = [bucket, of.map(({ requestId }) => requestId)];
    const { rows } = await on.query<{ requestId: string }>({ ...DELETE_PARTS, values });
    for (const { requestId } of rows) forgotten.add(requestId);
  }
  return forgotten;
}

function messageOf(endpointId: string, summary: RequestSummary, url: string | null): NewMessage {
  const { requestId: cause, appliedAt, receivedAt } = summary;
  const messageId = messageIdFor(endpointId, EVENT, cause);
  return {
    messageId,
    endpointId,
    event: EVENT,
    cause,
    url,
    body: bodyOf(EVENT, appliedAt ?? receivedAt, summary),
  };
}

/** The endpoint for the origin of a request's ReplyTo; undefined if it is not on the client's list. */
async function replyToEndpointOf(
  on: Queryable,
  cipher: SecretCipher,
  { clientId, replyToOrigins }: Listener,
  { replyTo }: RequestSummary,
): Promise<string | undefined> {
  const origin = replyTo === null ? undefined : URL.parse(replyTo)?.origin;
  if (origin === undefined || !replyToOrigins.includes(origin)) return undefined;
  const statement = { ...ADD_REPLY_TO, values: [randomUUID(), clientId, origin] };
  const add = async () => (await on.query<{ endpointId: string; isNew: boolean }>(statement)).rows[0];
  // If another node has just added it, the first statement waited for that node and does not see its row.
  const endpoint = (await add()) ?? (await add());
  if (endpoint === undefined) throw new Error("An endpoint of a ReplyTo origin was neither added nor found.");
  if (endpoint.isNew) await putSecret(on, cipher, endpoint.endpointId);
  return endpoint.endpointId;
}
