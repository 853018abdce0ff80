import { parseArgs } from "node:util";
import { AcceptLog } from "../accept/accept-log.ts";
import { recordAudit } from "../auth/audit.ts";
import { countText } from "../doctor/amounts.ts";
import { type HeldEntry, listHeld, readAllHeld, readHeld } from "../state/quarantine.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";

const USAGE = `bellhop quarantine list [--client CODE] [--property CODE] [--limit N] [--json]
bellhop quarantine release REQUEST_ID INDEX|all [--json]
bellhop quarantine discard REQUEST_ID INDEX|all [--json]
`;

const HELP = `${USAGE}
Records that were accepted but held aside: a source time more than 10 minutes ahead of its receipt, or a value that the
database could not store. A release applies the record as it was sent; a discard leaves it in the log and in its
request's outcomes as discarded. Both are entries of the log, so a replay takes the same decisions; the running
service (or its next start) carries them out. INDEX is the record's place in the batch as sent, from 0; all: every record of
the request that is held.
`;

function describe(held: readonly HeldEntry[]): string {
  if (held.length === 0) return "No record is held.\n";
  const rows = held.map((entry) => [
    entry.requestId,
    String(entry.index),
    // A record that cannot be read has no property.
    `${entry.clientCode ?? "-"}/${entry.propertyCode ?? "-"}`,
    entry.resource,
    entry.key,
    entry.code,
    entry.message,
  ]);
  const lines = tableLines(["REQUEST", "INDEX", "PROPERTY", "RESOURCE", "KEY", "CODE", "WHY"], rows);
  return `${lines.join("\n")}\n`;
}

interface Target {
  readonly requestId: string;
  /** Undefined: every record of the request that is held. */
  readonly index: number | undefined;
}

async function findHeld(
  { database: { pool } }: CommandContext,
  { requestId, index }: Target,
): Promise<HeldEntry[]> {
  if (index === undefined) return readAllHeld(pool, requestId);
  const held = await readHeld(pool, requestId, index);
  return held === undefined ? [] : [held];
}

/** Writes what is to become of one held record to the log, and who said so to the audit. */
async function appendResolution(
  log: AcceptLog,
  { database, who }: CommandContext,
  kind: "release" | "discard",
  { requestId, index, bucket, resourceLetter }: HeldEntry,
): Promise<{ readonly index: number; readonly entryId: string }> {
  const target = { requestId, index };
  const entryId = await log.appendResolution({
    ...{ kind, operator: who, bucket, resource: resourceLetter },
    ...target,
  });
  await recordAudit(database.pool, {
    who,
    what: `${kind}-quarantined-record`,
    detail: { ...target, entryId },
  });
  return { index, entryId };
}

function tell(
  kind: "release" | "discard",
  { requestId, index }: Target,
  entries: readonly { readonly index: number; readonly entryId: string }[],
  json: boolean,
): string {
  const done = kind === "release" ? "released" : "discarded";
  if (index === undefined)
    return json
      ? JSON.stringify({ requestId, kind, entries })
      : `${countText(entries.length, "record")} will be ${done}.`;
  const entryId = entries[0]?.entryId;
  return json
    ? JSON.stringify({ entryId, requestId, index, kind })
    : `It will be ${done} (log entry ${entryId}).`;
}

async function resolve(
  context: CommandContext,
  kind: "release" | "discard",
  target: Target,
  json: boolean,
): Promise<number> {
  const held = await findHeld(context, target);
  if (held.length === 0) {
    const of = target.index === undefined ? "that request" : "that request and index";
    process.stderr.write(`bellhop: no record of ${of} is held (see bellhop quarantine list).\n`);
    return 1;
  }
  const log = await AcceptLog.open(context.database.clientConfig, 1, {});
  try {
    const entries: { index: number; entryId: string }[] = [];
    for (const one of held) entries.push(await appendResolution(log, context, kind, one));
    process.stdout.write(`${tell(kind, target, entries, json)}\n`);
    return 0;
  } finally {
    await log.close();
  }
}

/** Says on standard error what is wrong with the line and what would be right. */
function refuseLine(message: string): number {
  process.stderr.write(`bellhop quarantine: ${message}\n${USAGE}`);
  return 2;
}

/** `bellhop quarantine list|release|discard`. */
export async function quarantineCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      client: { type: "string" },
      property: { type: "string" },
      limit: { type: "string", default: "100" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [verb, requestId, indexText, ...more] = positionals;
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (verb === "list") {
    if (requestId !== undefined) return refuseLine(`list takes no ${JSON.stringify(requestId)}.`);
    if (!/^\d{1,5}$/.test(values.limit)) return refuseLine("--limit is a whole number up to 99999.");
    return openForCommand(environment, async ({ database }) => {
      const { client = null, property = null, json } = values;
      const limit = Number(values.limit);
      const held = await listHeld(database.pool, client, property, limit + 1);
      const items = held.slice(0, limit);
      const more = held.length > limit;
      process.stdout.write(json ? `${JSON.stringify({ items, more })}\n` : describe(items));
      if (more && !json) process.stdout.write(`… and more (--limit, ${limit} now).\n`);
      return 0;
    });
  }
  if (verb !== "release" && verb !== "discard")
    return refuseLine(
      verb === undefined
        ? "say what to do."
        : `there is no ${JSON.stringify(verb)}; there is list, release, discard.`,
    );
  if (requestId === undefined || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(requestId))
    return refuseLine(`${verb} takes the UUID of a request and the index of a record in it.`);
  if (indexText === undefined || !/^(\d{1,6}|all)$/.test(indexText) || more.length > 0)
    return refuseLine(`${verb} takes the index of one record, or all, after the UUID of its request.`);
  const index = indexText === "all" ? undefined : Number(indexText);
  const target = { requestId: requestId.toLowerCase(), index };
  return openForCommand(environment, (context) => resolve(context, verb, target, values.json));
}
