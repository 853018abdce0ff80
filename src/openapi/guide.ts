import type { Tag } from "../platform/http/openapi/model.ts";
import type { DocumentOptions } from "../platform/http/openapi/options.ts";

/** What the document says before its operations (CommonMark). */
export function introduction({ requestRate, requestBurst, tokenBurst }: DocumentOptions): string {
  return `A batch is a JSON array of records of one kind. It is answered with a **202** and a UUID once it is on disk, and applied right after, exactly once, in whatever order batches arrive. Nothing that was accepted disappears: every record has an outcome, and nothing is overwritten without its earlier version being kept.

## Conventions

- **Dates** are \`YYYY-MM-DD\` and stay dates: no time zone is ever applied. **Timestamps** are UTC with a trailing \`Z\`.
- **Numbers** may be sent as JSON numbers or as numeric texts. Decimals are kept exactly as sent.
- **null** is accepted only where a field says so. Elsewhere leave the field out.
- **Other fields** than those listed are accepted, stored and returned verbatim.
- **A newer record replaces the older one whole**, nested arrays included. The newest source time wins, in whatever order records arrive; of two with the same source time, the one received later.

## Sending safely

- Give each batch an \`Idempotency-Key\` and send it again, the same, after a 408, 429, 500 or 503 and after no answer at all: it is stored once.
- A **503** means that it is not known to be on disk; a **429** that nothing was accepted. Both have \`Retry-After\`, in seconds: wait, then send it again.
- Compress large batches: \`Content-Encoding: gzip\`, \`br\` or \`zstd\`.

## Limits

- ${requestRate} requests a second for each client, ${requestBurst} at once. \`RateLimit\` and \`RateLimit-Policy\` on every answer report the remaining quota.
- ${tokenBurst} tokens at once, and one more every 10 minutes. A token is valid for 60 minutes.

## Which refusal comes first

Of several things wrong with a call, the first of these is answered: address and method (404, 405), token and scope (401, 403), rate (429), size, media type and headers (413, 415, 422), not a batch (400), a foreign property (403), invalid records (400).

## Versions

\`/api/public/v1\` is frozen: fields, optional headers, codes and addresses may be added; nothing is renamed, removed or tightened. Read leniently, and take a code that you do not know for its HTTP status. Anything else will be \`/v2\`, side by side, and \`Deprecation\` and \`Sunset\` headers will announce an end.`;
}

/** The chapters of the document, in the order of a partner's way through it. */
export const TAGS: readonly Tag[] = [
  {
    name: "Tokens",
    description:
      "Your operator gives you a client id and a secret. Trade them for a token (OAuth 2.0, client credentials), keep it for most of its hour, and send it with every call as `Authorization: Bearer …`. No token at all is a **401**; one that is invalid, expired or not allowed to do this is a **403**. Both have an empty body: `WWW-Authenticate` says why.",
  },
  {
    name: "Push",
    description:
      "One address for each kind of record. A batch is accepted whole or refused whole, unless you send `Prefer: handling=lenient`. What is refused (**400**) is what cannot be stored and understood: a wrong type, a missing required field, a date that is none, a period that ends before it starts. What is merely doubtful, such as more rooms sold than there are, is accepted and reported as a warning.",
  },
  {
    name: "Requests",
    description: "The outcome of each batch you pushed, record by record.",
  },
  {
    name: "Backfills",
    description:
      "A cold start as a session: say what is coming of one property, send the batches with its `Backfill-Id`, see what is there and what is missing, and close it with a statement that both sides sign. What is sent live beside it goes first.",
  },
  {
    name: "Records",
    description:
      "What is known now, what was known at an earlier moment, and every version in between. Lists come in pages: follow `nextCursor` until it is null.",
  },
  {
    name: "Changes",
    description:
      "What changes, as it does: ask, keep the last cursor, ask again with it. With `wait` the answer comes as soon as there is something. After a crash, go on from the last cursor you kept: nothing is left out. See docs/changes.md.",
  },
  {
    name: "Insight",
    description:
      "What the records amount to: rooms and revenue by night, at any instant of either clock. Money is decimal text, exact; amounts of different currencies are never added. Each has `text/csv`, too. What a figure means stands in docs/insight.md.",
  },
  {
    name: "Webhooks",
    description:
      "Receive events instead of polling: Bellhop POSTs messages to your endpoints, signed as Standard Webhooks specifies. A message may arrive more than once, with the same `webhook-id`. docs/webhooks.md shows a message and how to verify it.",
  },
  { name: "Service", description: "Run and monitor this deployment. No token is needed." },
];
