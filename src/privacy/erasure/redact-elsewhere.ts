import type pg from "pg";
import { ERASED, type MemberRule, rewriteMembers } from "#contract/redact-record.ts";
import { RESOURCES } from "#contract/resource.ts";
import { type RecordIdentity, raisePrivacyVersion } from "../../ingest/redact.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { WordFinder } from "./word-finder.ts";

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

/** Whose data may mention the subjects. Other tenants' data is not searched: a sender chooses the words, which may be anything. */
export interface Reach {
  /** The client codes of the subjects. */
  readonly clientCodes: readonly string[];
  /** Other client codes of properties. */
  readonly otherCodes: ReadonlySet<string>;
  /** Clients with grants, none of them for these client codes, that sent none of the records. */
  readonly foreignClients: readonly string[];
}

const findForeignClients = namedStatement(
  "find-foreign-clients",
  `select client_id from bellhop.client_grant
  where client_id not in (
    select client_id from bellhop.accept_log where request_id = any ($2::uuid[])
  )
  group by client_id having not bool_or(client_code = any ($1::text[]))`,
);
const findOtherCodes = namedStatement(
  "find-other-client-codes",
  "select distinct client_code from bellhop.property where client_code <> all ($1::text[])",
);

/** `requestIds`: those that brought the subjects' records. */
export async function readReach(
  client: pg.ClientBase,
  clientCodes: readonly string[],
  requestIds: readonly string[],
): Promise<Reach> {
  const foreign = await client.query<{ client_id: string }>({
    ...findForeignClients,
    values: [clientCodes, requestIds],
  });
  const others = await client.query<{ client_code: string }>({ ...findOtherCodes, values: [clientCodes] });
  return {
    clientCodes,
    otherCodes: new Set(others.rows.map((row) => row.client_code)),
    foreignClients: foreign.rows.map((row) => row.client_id),
  };
}

interface FreeTextColumn {
  readonly table: string;
  readonly column: string;
  readonly type: "json" | "text";
  /** SQL: rows within a Reach, whose codes are $1 and foreign clients $2. */
  readonly within: string;
}

const OF_CLIENT = "client_id <> all ($2::text[])";
const OF_CODES = "client_code = any ($1::text[])";
const OF_ENDPOINT = `endpoint_id in (select endpoint_id from bellhop.webhook_endpoint where ${OF_CLIENT})`;
const columnsOf = (within: string, table: string, ...columns: readonly string[]): FreeTextColumn[] =>
  columns.map((column) => ({
    table,
    column,
    type: column === "detail" || column === "lists" ? "json" : "text",
    within,
  }));

/**
 * Free-text columns (docs/privacy.md), from which the words of erased guests are removed. Certificates among them contain no such words.
 * The log comes first, because webhook messages are derived from it.
 */
export const FREE_TEXT_OF_LOG: readonly FreeTextColumn[] = columnsOf(
  OF_CLIENT,
  "bellhop.accept_log",
  "correlation_id",
  "reply_to",
);
export const FREE_TEXT_ELSEWHERE: readonly FreeTextColumn[] = [
  ...columnsOf(
    `coalesce(${OF_CLIENT}, true) and coalesce(detail ->> 'clientCode' = any ($1::text[]), true)`,
    "bellhop.audit_entry",
    "detail",
    "lists",
  ),
  ...columnsOf(
    `property_id in (select property_id from bellhop.property where ${OF_CODES})`,
    "bellhop.quarantine",
    "message",
  ),
  ...columnsOf(
    `certification_id in (select certification_id from bellhop.certification where ${OF_CLIENT})`,
    "bellhop.certification_event",
    "detail",
  ),
  ...columnsOf(OF_CODES, "bellhop.backfill", "note", "abandoned_why"),
  ...columnsOf(OF_CLIENT, "bellhop.webhook_endpoint", "description", "pause_reason"),
  ...columnsOf(OF_ENDPOINT, "bellhop.webhook_message", "last_failure", "url"),
  ...columnsOf(OF_ENDPOINT, "bellhop.webhook_attempt", "failure", "answer", "url"),
  ...columnsOf(
    `erasure_id in (select erasure_id from bellhop.erasure_subject where ${OF_CODES})`,
    "bellhop.erasure",
    "reason",
  ),
];

/** Members of JSON that say whom an entry is about, never who a guest is. */
const KEPT_MEMBERS: ReadonlySet<string> = new Set([
  "clientCode",
  "propertyCode",
  "scopes",
  "role",
  "requestId",
  "entryId",
  "erasureId",
]);

const ROWS_AT_ONCE = 1_000;
/** Bounds of one expression: PostgreSQL's memory for it grows with the square of its length. A profile may be named beside thousands of guests. */
const WORDS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 4_096;
/** Of more words, those that occur in a column are found first by reading it once: each group searches all of it. */
const WORDS_SEARCHED_MAX = 4 * WORDS_AT_ONCE;

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

/**
 * The beginning of a word that is too long for an expression, as one in a rejected record may be; undefined for others. What follows it in
 * a text is removed, too.
 */
function beginningOf(word: string): string | undefined {
  // Half a character would match nothing.
  return word.length > CHARACTERS_AT_ONCE
    ? word.slice(0, CHARACTERS_AT_ONCE).replace(/[\ud800-\udbff]$/, "")
    : undefined;
}

/** A PostgreSQL regular expression that matches the words literally; no character beyond ASCII is special. */
function patternOf(words: readonly string[], type: FreeTextColumn["type"]): string {
  const { spell, begin } = SPELLING[type];
  const escaped = (word: string) => spell(word).replaceAll(/[!-/:-@[-`{-~]/g, "\\$&");
  return words
    .map((word) => {
      const beginning = beginningOf(word);
      if (beginning !== undefined) return `${escaped(beginning)}.*`;
      return isNumber(word) ? `${begin}${word}\\M` : escaped(word);
    })
    .join("|");
}

/** The same as a JavaScript expression. Longest first, as PostgreSQL prefers the longest match. */
function expressionOf(words: readonly string[]): RegExp {
  const longestFirst = words.toSorted((left, right) => right.length - left.length);
  const escaped = (word: string) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const alternatives = longestFirst.map((word) => {
    const beginning = beginningOf(word);
    if (beginning !== undefined) return `${escaped(beginning)}[^]*`;
    return isNumber(word) ? `(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])` : escaped(word);
  });
  return new RegExp(alternatives.join("|"), "giu");
}

/** JSON with its string values rewritten, except those of the members `kept`; member names are unchanged. */
export function withTexts(
  value: unknown,
  rewrite: (text: string) => string,
  kept: ReadonlySet<string> = new Set(),
): unknown {
  if (typeof value === "string") return rewrite(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, rewrite, kept));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, of]) => [name, kept.has(name) ? of : withTexts(of, rewrite, kept)]),
  );
}

/** The words in groups for one expression each, the longest first: removing a part of a name first would leave the rest of it. */
function* groupsOf(words: readonly string[]): Generator<string[]> {
  let group: string[] = [];
  let characters = 0;
  for (const word of words.toSorted((left, right) => right.length - left.length)) {
    if (
      group.length === WORDS_AT_ONCE ||
      (group.length > 0 && characters + word.length > CHARACTERS_AT_ONCE)
    ) {
      yield group;
      [group, characters] = [[], 0];
    }
    group.push(word);
    characters += word.length;
  }
  if (group.length > 0) yield group;
}

/** Both parameters are always used, so that their types are known. */
const withinReach = (within: string): string => `($1::text[], $2::text[]) is not null and ${within}`;

/**
 * Removes words from string values only: a person's number may equal one of Bellhop's, and a name a member's. Returns the number of rows
 * changed.
 */
async function redactJson(
  client: pg.ClientBase,
  { table, column, within }: FreeTextColumn,
  words: readonly string[],
  { clientCodes, foreignClients }: Reach,
): Promise<number> {
  const expression = expressionOf(words);
  const withoutWords = (text: string) => text.replaceAll(expression, ERASED);
  return withTransaction(client, async () => {
    const { rows: places } = await client.query<{ place: string }>(
      `select ctid::text as place from ${table}
      where ${withinReach(within)} and ${column}::text ~* $3 for update`,
      [clientCodes, foreignClients, patternOf(words, "json")],
    );
    let redacted = 0;
    for (let at = 0; at < places.length; at += ROWS_AT_ONCE) {
      const { rows } = await client.query<{ place: string; value: unknown }>(
        `select ctid::text as place, ${column} as value from ${table} where ctid = any ($1::tid[])`,
        [places.slice(at, at + ROWS_AT_ONCE).map(({ place }) => place)],
      );
      const changed = rows
        .map(({ place, value }) => ({
          place,
          value,
          after: JSON.stringify(withTexts(value, withoutWords, KEPT_MEMBERS)),
        }))
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
  { table, column, within }: FreeTextColumn,
  words: readonly string[],
  { clientCodes, foreignClients }: Reach,
): Promise<number> {
  // A text in PostgreSQL has no NUL, unlike a rejected record and the JSON of other columns.
  const possible = words.filter((word) => !word.includes("\0"));
  if (possible.length === 0) return 0;
  const { rowCount } = await client.query(
    `update ${table} set ${column} = regexp_replace(${column}, $3, $4, 'gi')
    where ${withinReach(within)} and ${column} ~* $3`,
    [clientCodes, foreignClients, patternOf(possible, "text"), ERASED],
  );
  return rowCount ?? 0;
}

/** Which of the words occur in a column within reach; more than do where spellings differ only for regular expressions. */
async function wordsIn(
  client: pg.ClientBase,
  { table, column, type, within }: FreeTextColumn,
  words: readonly string[],
  { clientCodes, foreignClients }: Reach,
): Promise<readonly string[]> {
  const finder = new WordFinder(words, (word) => SPELLING[type].spell(beginningOf(word) ?? word));
  const found = new Set<string>();
  await withTransaction(client, async () => {
    await client.query(
      `declare texts no scroll cursor for
      select ${column}::text as text from ${table} where ${withinReach(within)} and ${column} is not null`,
      [clientCodes, foreignClients],
    );
    for (;;) {
      const { rows } = await client.query<{ text: string }>(`fetch ${ROWS_AT_ONCE} from texts`);
      if (rows.length === 0) return;
      for (const { text } of rows) for (const word of finder.wordsIn(text)) found.add(word);
    }
  });
  return [...found];
}

/** Removes words from free-text columns within reach, ignoring case; returns the number of rows changed, summed over columns and groups of words. */
export async function redactFreeTexts(
  client: pg.ClientBase,
  words: readonly string[],
  columns: readonly FreeTextColumn[],
  reach: Reach,
): Promise<number> {
  let rows = 0;
  for (const column of columns) {
    const sought = words.length > WORDS_SEARCHED_MAX ? await wordsIn(client, column, words, reach) : words;
    for (const group of groupsOf(sought))
      rows += await (column.type === "json" ? redactJson : redactText)(client, column, group, reach);
  }
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
