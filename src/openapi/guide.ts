import type { Tag } from "../platform/http/openapi/model.ts";
import type { DocumentOptions } from "../platform/http/openapi/options.ts";

/** The document's introduction (CommonMark). */
export function introduction({ requestRate, requestBurst, tokenBurst }: DocumentOptions): string {
  return `A batch is a JSON array of records of one kind. Bellhop answers **202** with a UUID once the batch is on disk, and then applies it exactly once, regardless of arrival order. Every accepted record has an outcome, and every earlier version is kept.

## Conventions

- **Dates** are \`YYYY-MM-DD\` without a time zone. **Timestamps** are UTC with a trailing \`Z\`.
- **Numbers** may be sent as JSON numbers or as numeric strings. Decimals are stored exactly.
- **null** is accepted only in fields that say so. Omit other fields instead.
- **Unknown fields** are accepted, stored and returned verbatim.
- **A newer record replaces the older one completely**, nested arrays included. The newest source time wins, regardless of arrival order; of two records with the same source time, the one received later wins.

## Reliable delivery

- Give each batch an \`Idempotency-Key\`. After a 408, 429, 500, 503 or no response, send the same bytes with the same key: the batch is stored once.
- After a **503** it is unknown whether the batch is on disk; after a **429** nothing was stored. Both have \`Retry-After\` in seconds: wait, then send the batch again.
- Compress large batches: \`Content-Encoding: gzip\`, \`br\` or \`zstd\`.

## Limits

- ${requestRate} requests per second for each client, with bursts of ${requestBurst}. \`RateLimit\` and \`RateLimit-Policy\` on every response report the remaining quota.
- ${tokenBurst} tokens in a burst, and one more every 10 minutes. A token is valid for 60 minutes.

## Validation order

If several checks fail, the first of these determines the response: address and method (404, 405), token and scope (401, 403), rate (429), size, media type and headers (413, 415, 422), not a batch (400), a property that was not granted (403), invalid records (400).

## Versions

\`/api/public/v1\` is frozen: fields, optional headers, codes and addresses may be added; nothing is renamed, removed or tightened. Ignore unknown fields, and handle an unknown code by its HTTP status. Other changes will be in \`/v2\`, beside \`/v1\`, and \`Deprecation\` and \`Sunset\` headers will announce an end.`;
}

/** The document's sections, in the order in which partners need them. */
export const TAGS: readonly Tag[] = [
  {
    name: "Tokens",
    description:
      "Your operator gives you a client id and a secret. Exchange them for a token (OAuth 2.0 client credentials), reuse it for one hour, and send it with every request as `Authorization: Bearer …`. A request without a token gets a **401**; one whose token is invalid, expired or lacks permission gets a **403**. Both have an empty body: `WWW-Authenticate` states the reason.",
  },
  {
    name: "Push",
    description:
      "There is one address for each kind of record. A batch is accepted or refused as a whole, unless you send `Prefer: handling=lenient`. Invalid records are refused (**400**): a wrong type, a missing required field, an impossible date, a period that ends before it starts. Doubtful records, such as more rooms sold than the capacity, are accepted with a warning.",
  },
  {
    name: "Requests",
    description: "The outcome of each record of each batch that you pushed.",
  },
  {
    name: "Backfills",
    description:
      "Load the history of one property: declare the data in a manifest, send the batches with the `Backfill-Id`, check what is missing, and close the backfill with a statement that both sides sign. Live batches take precedence.",
  },
  {
    name: "Records",
    description:
      "Current records, records as of an earlier instant, and every version. Lists are paged: follow `nextCursor` until it is null.",
  },
  {
    name: "Changes",
    description:
      "A feed of changes: request it, store the last cursor, and request it again with that cursor. With `wait` the response comes as soon as something changes. After a crash, resume from the last stored cursor: no change is missed. See docs/changes.md.",
  },
  {
    name: "Insight",
    description:
      "Rooms and revenue by stay date, as of any instant by PMS time or received time. Amounts are exact decimal strings; amounts of different currencies are never added. Each query also returns `text/csv`. docs/insight.md defines each figure.",
  },
  {
    name: "Webhooks",
    description:
      "Receive events instead of polling: Bellhop POSTs messages to your endpoints, signed as Standard Webhooks specifies. A message may arrive more than once, with the same `webhook-id`. docs/webhooks.md shows a message and how to verify it.",
  },
  { name: "Service", description: "Run and monitor this deployment. No token is needed." },
];
