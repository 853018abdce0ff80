import type pg from "pg";
import type { RecordIdentity } from "../../accept/strip-list.ts";
import { RESOURCES } from "../../contract/resource.ts";
import { rewriteMembers } from "../../contract/rewrite-members.ts";
import { ERASED } from "../../contract/strip-record.ts";
import { readStatement } from "../../db/statement.ts";

const findMessages = readStatement(new URL("./sql/find-change-messages.sql", import.meta.url));
const readMessage = readStatement(new URL("./sql/read-message-body.sql", import.meta.url));
const writeMessage = readStatement(new URL("./sql/write-message-body.sql", import.meta.url));

/**
 * Columns in which people or other machines write freely (docs/privacy.md): the words of erased guests are taken out of them,
 * wherever they stand. The certificates among them hold no such word.
 */
export const FREE_TEXT_COLUMNS = [
  { table: "bellhop.audit_entry", column: "detail", type: "json" },
  { table: "bellhop.quarantine", column: "message", type: "text" },
  { table: "bellhop.certification_event", column: "detail", type: "json" },
  { table: "bellhop.backfill", column: "note", type: "text" },
  { table: "bellhop.backfill", column: "abandoned_why", type: "text" },
  { table: "bellhop.webhook_endpoint", column: "description", type: "text" },
  { table: "bellhop.webhook_endpoint", column: "pause_reason", type: "text" },
  { table: "bellhop.webhook_message", column: "last_failure", type: "text" },
  { table: "bellhop.webhook_attempt", column: "failure", type: "text" },
  { table: "bellhop.webhook_attempt", column: "answer", type: "text" },
  { table: "bellhop.erasure", column: "reason", type: "text" },
  { table: "bellhop.accept_log", column: "correlation_id", type: "text" },
  { table: "bellhop.accept_log", column: "reply_to", type: "text" },
] as const;

/** How a word stands within a JSON text. */
function jsonSpelling(word: string): string {
  return JSON.stringify(word).slice(1, -1);
}

/** A pattern in which every character of the words means itself. */
function patternOf(words: readonly string[], spell: (word: string) => string): string {
  return words.map((word) => spell(word).replaceAll(/[^\p{L}\p{N}\s]/gu, "\\$&")).join("|");
}

/**
 * Takes words out of what is written freely, whatever their case; answers in how many rows and columns they stood, and in which
 * tables.
 */
export async function redactFreeTexts(
  client: pg.ClientBase,
  words: readonly string[],
): Promise<{ readonly rows: number; readonly tables: ReadonlySet<string> }> {
  const tables = new Set<string>();
  let rows = 0;
  if (words.length === 0) return { rows, tables };
  for (const { table, column, type } of FREE_TEXT_COLUMNS) {
    const pattern = patternOf(words, type === "json" ? jsonSpelling : (word) => word);
    const { rowCount } = await client.query(
      `update ${table} set ${column} = regexp_replace(${column}::text, $1, $2, 'gi')::${type}
      where ${column}::text ~* $1`,
      [pattern, ERASED],
    );
    rows += rowCount ?? 0;
    if (rowCount !== 0) tables.add(table);
  }
  return { rows, tables };
}

interface MessageRow {
  readonly body: string;
}

/** What stands in the place of a record in a message, as JSON; the same bytes where it stays. */
export type RewriteRecord = (identity: RecordIdentity, bytes: Buffer) => Buffer;

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

/**
 * Writes records anew in messages to webhooks, those that wait and those that were given up: what is delivered from now on tells
 * nothing of what is gone. Answers in how many messages something changed.
 */
export async function rewriteMessages(client: pg.ClientBase, rewrite: RewriteRecord): Promise<number> {
  const { rows: ids } = await client.query<{ message_id: string }>(findMessages);
  const changes = { items: (json: Buffer) => rewriteChange(json, rewrite) };
  const data = { members: new Map([["changes", changes]]) };
  let rewritten = 0;
  for (const { message_id: messageId } of ids) {
    const { rows } = await client.query<MessageRow>({ ...readMessage, values: [messageId] });
    const body = rows[0]?.body;
    if (body === undefined) continue;
    const written = rewriteMembers(Buffer.from(body), { members: new Map([["data", data]]) }).toString(
      "utf8",
    );
    if (written === body) continue;
    await client.query({ ...writeMessage, values: [messageId, written] });
    rewritten += 1;
  }
  return rewritten;
}
