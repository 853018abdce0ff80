import type pg from "pg";
import { ERASED, type MemberRule, rewriteMembers } from "#contract/redact-record.ts";
import { RESOURCES } from "#contract/resource.ts";
import { type RecordIdentity, raisePrivacyVersion } from "../../ingest/redact.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";

const findMessages = namedStatement(
  "find-change-messages",
  `select message_id from bellhop.webhook_message where event = 'changes.available' order by message_id`,
);
const findAppliedMessages = readStatement(new URL("./sql/find-applied-messages.sql", import.meta.url));
const readMessage = namedStatement(
  "read-message-body",
  `select body from bellhop.webhook_message where message_id = $1`,
);
const writeMessage = namedStatement(
  "write-message-body",
  `update bellhop.webhook_message set body = $2 where message_id = $1`,
);

interface FreeTextColumn {
  readonly table: string;
  readonly column: string;
  readonly type: "json" | "text";
}

/**
 * Free-text columns (docs/privacy.md), from which the words of erased guests are removed. Certificates among them contain no such words.
 * The log comes first, because webhook messages are derived from it.
 */
export const FREE_TEXT_OF_LOG: readonly FreeTextColumn[] = [
  { table: "bellhop.accept_log", column: "correlation_id", type: "text" },
  { table: "bellhop.accept_log", column: "reply_to", type: "text" },
];
export const FREE_TEXT_ELSEWHERE: readonly FreeTextColumn[] = [
  { table: "bellhop.audit_entry", column: "detail", type: "json" },
  { table: "bellhop.quarantine", column: "message", type: "text" },
  { table: "bellhop.certification_event", column: "detail", type: "json" },
  { table: "bellhop.backfill", column: "note", type: "text" },
  { table: "bellhop.backfill", column: "abandoned_why", type: "text" },
  { table: "bellhop.webhook_endpoint", column: "description", type: "text" },
  { table: "bellhop.webhook_endpoint", column: "pause_reason", type: "text" },
  { table: "bellhop.webhook_message", column: "last_failure", type: "text" },
  { table: "bellhop.webhook_message", column: "url", type: "text" },
  { table: "bellhop.webhook_attempt", column: "failure", type: "text" },
  { table: "bellhop.webhook_attempt", column: "answer", type: "text" },
  { table: "bellhop.webhook_attempt", column: "url", type: "text" },
  { table: "bellhop.erasure", column: "reason", type: "text" },
];

const ROWS_AT_ONCE = 1_000;

/** A number is removed only as a whole number: its digits within a longer one (an id, a hash) identify nobody. */
const isNumber = (word: string) => /^\d+$/.test(word);

/** How a word is spelled in a column, and where a number may start: in JSON also after an escape, whose letter is not part of the text. */
const SPELLING = {
  text: { spell: (word: string) => word, begin: "\\m" },
  json: {
    spell: (word: string) => JSON.stringify(word).slice(1, -1),
    begin: String.raw`(?:\m|\\[bfnrt]|\\u[0-9a-f]{4})`,
  },
} as const;

/** A PostgreSQL regular expression that matches the words literally; no character beyond ASCII is special. */
function patternOf(words: readonly string[], type: FreeTextColumn["type"]): string {
  const { spell, begin } = SPELLING[type];
  const escaped = (word: string) => spell(word).replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
  return words.map((word) => (isNumber(word) ? `${begin}${word}\\M` : escaped(word))).join("|");
}

/** The same as a JavaScript expression. Longest first, as PostgreSQL prefers the longest match. */
function expressionOf(words: readonly string[]): RegExp {
  const longestFirst = words.toSorted((left, right) => right.length - left.length);
  const escaped = (word: string) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const alternatives = longestFirst.map((word) =>
    isNumber(word) ? `(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])` : escaped(word),
  );
  return new RegExp(alternatives.join("|"), "giu");
}

/** JSON with its string values rewritten; member names are unchanged. */
export function withTexts(value: unknown, rewrite: (text: string) => string): unknown {
  if (typeof value === "string") return rewrite(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, rewrite));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, withTexts(of, rewrite)]));
}

/**
 * Removes words from string values only: a person's number may equal one of Bellhop's, and a name a member's. Returns the number of rows
 * changed.
 */
async function redactJson(
  client: pg.ClientBase,
  { table, column }: FreeTextColumn,
  words: readonly string[],
): Promise<number> {
  const expression = expressionOf(words);
  const withoutWords = (text: string) => text.replaceAll(expression, ERASED);
  return withTransaction(client, async () => {
    const { rows: places } = await client.query<{ place: string }>(
      `select ctid::text as place from ${table} where ${column}::text ~* $1 for update`,
      [patternOf(words, "json")],
    );
    let redacted = 0;
    for (let at = 0; at < places.length; at += ROWS_AT_ONCE) {
      const { rows } = await client.query<{ place: string; value: unknown }>(
        `select ctid::text as place, ${column} as value from ${table} where ctid = any ($1::tid[])`,
        [places.slice(at, at + ROWS_AT_ONCE).map(({ place }) => place)],
      );
      const changed = rows
        .map(({ place, value }) => ({ place, value, after: JSON.stringify(withTexts(value, withoutWords)) }))
        .filter(({ value, after }) => JSON.stringify(value) !== after);
      await client.query(
        `update ${table} as row set ${column} = written.value::json
        from unnest($1::tid[], $2::text[]) as written (place, value) where row.ctid = written.place`,
        [changed.map(({ place }) => place), changed.map(({ after }) => after)],
      );
      redacted += changed.length;
    }
    return redacted;
  });
}

async function redactText(
  client: pg.ClientBase,
  { table, column }: FreeTextColumn,
  words: readonly string[],
): Promise<number> {
  const { rowCount } = await client.query(
    `update ${table} set ${column} = regexp_replace(${column}, $1, $2, 'gi') where ${column} ~* $1`,
    [patternOf(words, "text"), ERASED],
  );
  return rowCount ?? 0;
}

/** Removes words from free-text columns, ignoring case; returns the number of rows changed, summed over columns. */
export async function redactFreeTexts(
  client: pg.ClientBase,
  words: readonly string[],
  columns: readonly FreeTextColumn[],
): Promise<number> {
  let rows = 0;
  if (words.length === 0) return rows;
  for (const column of columns)
    rows += await (column.type === "json" ? redactJson : redactText)(client, column, words);
  return rows;
}

/** Returns the JSON that replaces a record in a message; the same bytes if it is unchanged. */
type RewriteRecord = (identity: RecordIdentity, bytes: Buffer) => Buffer;

function rewriteChange(json: Buffer, rewrite: RewriteRecord): Buffer {
  const change = JSON.parse(json.toString("utf8")) as Record<string, unknown>;
  const resource = RESOURCES.find((one) => one === change["resource"]);
  if (resource === undefined || typeof change["record"] !== "object" || change["record"] === null)
    return json;
  const [clientCode, propertyCode] = [String(change["clientCode"]), String(change["propertyCode"])];
  const identity = { resource, clientCode, propertyCode, key: String(change["key"]) };
  return rewriteMembers(json, {
    members: new Map([["record", (bytes: Buffer) => rewrite(identity, bytes)]]),
  });
}

/** The sender's own words in a message about a request. */
interface AppliedMessageRow {
  readonly message_id: string;
  readonly correlation_id: string | null;
  readonly reply_to: string | null;
}

async function rewriteMessage(client: pg.ClientBase, messageId: string, data: MemberRule): Promise<boolean> {
  const { rows } = await client.query<{ body: string }>({ ...readMessage, values: [messageId] });
  const body = rows[0]?.body;
  if (body === undefined) return false;
  const written = rewriteMembers(Buffer.from(body), { members: new Map([["data", data]]) }).toString("utf8");
  if (written === body) return false;
  await client.query({ ...writeMessage, values: [messageId, written] });
  return true;
}

/**
 * Rewrites waiting and dead webhook messages after their sources have been redacted: records by `rewrite`, requests from the log. Messages
 * derived from earlier data are either rewritten here or not queued, so later deliveries disclose nothing erased. Returns the number of
 * messages changed.
 */
export async function rewriteMessages(client: pg.ClientBase, rewrite: RewriteRecord): Promise<number> {
  await raisePrivacyVersion(client);
  const { rows: ids } = await client.query<{ message_id: string }>(findMessages);
  const changes = { items: (json: Buffer) => rewriteChange(json, rewrite) };
  let rewritten = 0;
  for (const { message_id: messageId } of ids)
    if (await rewriteMessage(client, messageId, { members: new Map([["changes", changes]]) })) rewritten += 1;
  const { rows: applied } = await client.query<AppliedMessageRow>(findAppliedMessages);
  for (const { message_id: messageId, correlation_id, reply_to } of applied) {
    const members = new Map([
      ["correlationId", () => Buffer.from(JSON.stringify(correlation_id))],
      ["replyTo", () => Buffer.from(JSON.stringify(reply_to))],
    ]);
    if (await rewriteMessage(client, messageId, { members })) rewritten += 1;
  }
  // Responses to messages sent before the rewrite are not stored either.
  await raisePrivacyVersion(client);
  return rewritten;
}
