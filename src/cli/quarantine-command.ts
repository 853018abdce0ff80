import { parseArgs } from "node:util";
import { AcceptLog } from "../accept/accept-log.ts";
import { recordAudit } from "../auth/audit.ts";
import { type HeldEntry, listHeld, readHeld } from "../state/quarantine.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";

const USAGE = `bellhop quarantine list [--client CODE] [--property CODE] [--limit N] [--json]
bellhop quarantine release REQUEST_ID INDEX [--json]
bellhop quarantine discard REQUEST_ID INDEX [--json]
`;

const HELP = `${USAGE}
Records that were accepted but held aside: a source time more than 10 minutes ahead of its receipt, or a value that the
database could not store. A release applies the record as it was sent; a discard leaves it in the log and in its
request's outcomes as discarded. Both are entries of the log, so a replay takes the same decisions; the running
service (or its next start) carries them out. INDEX is the record's place in the batch as sent, from 0.
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

async function resolve(
  { database, who }: CommandContext,
  kind: "release" | "discard",
  target: { readonly requestId: string; readonly index: number },
  json: boolean,
): Promise<number> {
  const held = await readHeld(database.pool, target.requestId, target.index);
  if (held === undefined) {
    process.stderr.write(
      "bellhop: no record of that request and index is held (see bellhop quarantine list).\n",
    );
    return 1;
  }
  const log = await AcceptLog.open(database.clientConfig, 1, {});
  try {
    const { bucket, resourceLetter } = held;
    const entryId = await log.appendResolution({
      kind,
      operator: who,
      bucket,
      resource: resourceLetter,
      ...target,
    });
    await recordAudit(database.pool, {
      who,
      what: `${kind}-quarantined-record`,
      detail: { ...target, entryId },
    });
    const done = kind === "release" ? "released" : "discarded";
    process.stdout.write(
      json
        ? `${JSON.stringify({ entryId, ...target, kind })}\n`
        : `It will be ${done} (log entry ${entryId}).\n`,
    );
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
    if (!/^\d{1,5}$/.test(values.limit)) return refuseLine("--limit is a whole number.");
    return openForCommand(environment, async ({ database }) => {
      const held = await listHeld(
        database.pool,
        values.client ?? null,
        values.property ?? null,
        Number(values.limit),
      );
      process.stdout.write(values.json ? `${JSON.stringify({ items: held })}\n` : describe(held));
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
  if (indexText === undefined || !/^\d{1,6}$/.test(indexText) || more.length > 0)
    return refuseLine(`${verb} takes the index of one record after the UUID of its request.`);
  const target = { requestId: requestId.toLowerCase(), index: Number(indexText) };
  return openForCommand(environment, (context) => resolve(context, verb, target, values.json));
}
