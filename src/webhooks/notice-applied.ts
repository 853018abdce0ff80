import { randomUUID } from "node:crypto";
import type pg from "pg";
import { holdPrivacyVersion, readPrivacyVersion } from "../ingest/redact.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { type RequestSummary, readSummariesOf } from "../query/request-summary.ts";
import { bodyOf, messageIdFor, type NewMessage } from "./message.ts";
import { enqueueMessages, SHARDS } from "./queue.ts";
import { putFirstSecret, type SecretSealer } from "./secrets.ts";

/** Parts of the buckets $1 that are applied and not yet told of, at most $2. */
const FIND_PARTS = namedStatement(
  "find-applied-parts",
  `select bucket, request_id, client_id
  from bellhop.applied_part
  where bucket = any ($1::smallint[])
  order by bucket, request_id
  limit $2`,
);
/** Those of the parts $2 of the bucket $1 that were still to be told of. */
const FORGET_PARTS = namedStatement(
  "forget-applied-parts",
  `delete from bellhop.applied_part
  where bucket = $1 and request_id = any ($2::uuid[])
  returning bucket, request_id, client_id`,
);
/** Who of the clients $1 wants to hear of applied requests: by which endpoints, and at which origins of ReplyTo headers. */
const FIND_LISTENERS = namedStatement(
  "find-applied-listeners",
  `select
    client.client_id, client.reply_to_origins,
    array(
      select endpoint.endpoint_id from bellhop.webhook_endpoint as endpoint
      where endpoint.client_id = client.client_id and endpoint.kind = 'w' and 'request.applied' = any (endpoint.events)
    ) as endpoint_ids
  from bellhop.client as client
  where client.client_id = any ($1::text[]) and client.revoked_at is null`,
);
/** The endpoint that stands for the origin $3 in ReplyTo headers of client $2: the one there is, or a new one with the id $1. */
const ADD_REPLY_TO = namedStatement(
  "add-reply-to-endpoint",
  `with added as (
    insert into bellhop.webhook_endpoint (endpoint_id, kind, client_id, url, events, shard)
    values ($1, 'r', $2, $3, array['request.applied'], get_byte(uuid_send($1::uuid), 15) % 16)
    on conflict (client_id, url) where kind = 'r' do nothing
    returning endpoint_id
  )
  select endpoint_id, true as is_new from added
  union all
  select endpoint_id, false from bellhop.webhook_endpoint where client_id = $2 and url = $3 and kind = 'r'`,
);

const EVENT = "request.applied";
const BUCKETS = 64;
/** Parts looked at at once: their summaries take the database some 60 ms. */
const PARTS_AT_ONCE = 500;

interface AppliedPart {
  readonly bucket: number;
  readonly request_id: string;
  readonly client_id: string;
}

interface Listener {
  readonly client_id: string;
  readonly endpoint_ids: readonly string[];
  readonly reply_to_origins: readonly string[];
}

/** What a look found. */
export interface Noticed {
  /** There was something: there may be more. */
  readonly found: boolean;
  /** Messages were queued. */
  readonly queued: boolean;
}

/**
 * Makes messages of requests that have been applied, for the buckets of these shards. The transaction that applies a part has
 * noted it; the one that queues the messages deletes the note. Of a request with parts in several buckets, the note of the last
 * one finds it applied, because notes are read before the requests are: whichever part commits last is seen with all others.
 */
export async function noticeApplied(
  pool: pg.Pool,
  sealer: SecretSealer,
  shards: readonly number[],
): Promise<Noticed> {
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter((bucket) =>
    shards.includes(bucket % SHARDS),
  );
  const { rows: parts } = await pool.query<AppliedPart>({ ...FIND_PARTS, values: [buckets, PARTS_AT_ONCE] });
  if (parts.length === 0) return { found: false, queued: false };
  const privacyVersion = await readPrivacyVersion(pool);
  const requests = new Map(parts.map((part) => [part.request_id, part.client_id]));
  const asked = [...requests].map(([requestId, clientId]) => ({ requestId, clientId }));
  const summaries = new Map<string, RequestSummary>();
  for (const { summary } of await readSummariesOf(pool, asked, null))
    if (summary.status === "applied") summaries.set(summary.requestId, summary);
  const clientIds = [...new Set(requests.values())];
  const { rows } = await pool.query<Listener>({ ...FIND_LISTENERS, values: [clientIds] });
  const listeners = new Map(rows.map((listener) => [listener.client_id, listener]));
  const queued = await withTransaction(pool, async (on) => {
    // An erasure may have taken a correlation id out of the log since it was read: the summaries are read again.
    if (!(await holdPrivacyVersion(on, privacyVersion))) return false;
    const messages: NewMessage[] = [];
    const told = new Set<string>();
    for (const { request_id, client_id } of await forgetParts(on, parts)) {
      const summary = summaries.get(request_id);
      const listener = listeners.get(client_id);
      if (summary === undefined || listener === undefined || told.has(request_id)) continue;
      told.add(request_id);
      for (const endpointId of listener.endpoint_ids) messages.push(messageOf(endpointId, summary, null));
      const replyTo = await replyToEndpointOf(on, sealer, listener, summary);
      if (replyTo !== undefined) messages.push(messageOf(replyTo, summary, summary.replyTo));
    }
    await enqueueMessages(on, messages);
    return messages.length > 0;
  });
  return { found: true, queued };
}

/** Deletes the notes, bucket by bucket, and answers those that were still there: nobody else makes messages of them. */
async function forgetParts(on: Queryable, parts: readonly AppliedPart[]): Promise<AppliedPart[]> {
  const forgotten: AppliedPart[] = [];
  for (const [bucket, of] of Map.groupBy(parts, (part) => part.bucket)) {
    const requestIds = of.map(({ request_id }) => request_id);
    const { rows } = await on.query<AppliedPart>({ ...FORGET_PARTS, values: [bucket, requestIds] });
    forgotten.push(...rows);
  }
  return forgotten;
}

function messageOf(endpointId: string, summary: RequestSummary, url: string | null): NewMessage {
  const { requestId, appliedAt, receivedAt } = summary;
  return {
    messageId: messageIdFor(endpointId, EVENT, requestId),
    endpointId,
    event: EVENT,
    cause: requestId,
    url,
    body: bodyOf(EVENT, appliedAt ?? receivedAt, summary),
  };
}

/** The endpoint that stands for the origin of a request's ReplyTo, made when there is none; undefined where it is not on the client's list. */
async function replyToEndpointOf(
  on: Queryable,
  sealer: SecretSealer,
  { client_id, reply_to_origins }: Listener,
  { replyTo }: RequestSummary,
): Promise<string | undefined> {
  const origin = replyTo === null ? undefined : URL.parse(replyTo)?.origin;
  if (origin === undefined || !reply_to_origins.includes(origin)) return undefined;
  const values = [randomUUID(), client_id, origin];
  const add = async () =>
    (await on.query<{ endpoint_id: string; is_new: boolean }>({ ...ADD_REPLY_TO, values })).rows[0];
  // Where another node has just added it, the first statement has waited for that and not seen it yet.
  const endpoint = (await add()) ?? (await add());
  if (endpoint === undefined) throw new Error("An endpoint of a ReplyTo origin was neither added nor found.");
  if (endpoint.is_new) await putFirstSecret(on, sealer, endpoint.endpoint_id);
  return endpoint.endpoint_id;
}
