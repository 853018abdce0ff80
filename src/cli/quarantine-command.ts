import { parseArgs } from "node:util";
import { AcceptLog } from "../accept/accept-log.ts";
import { recordAudit } from "../auth/audit.ts";
import { type HeldEntry, listHeld, readHeld } from "../state/quarantine.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";

const HELP = `bellhop quarantine list [--client CODE] [--property CODE] [--limit N] [--json]
bellhop quarantine release REQUEST_ID INDEX [--json]
bellhop quarantine discard REQUEST_ID INDEX [--json]

Records that were accepted but held aside: a source time more than 10 minutes ahead of its receipt, or a value that the
database could not store. A release applies the record as it was sent; a discard leaves it in the log and in its
request's outcomes as discarded. Both are entries of the log, so a replay takes the same decisions; the running
service (or its next start) carries them out.
`;

function describe(held: readonly HeldEntry[]): string {
  if (held.length === 0) return "No record is held.\n";
  return `${held
    .map(
      (entry) =>
        `${entry.requestId} ${entry.index}  ${entry.clientCode}/${entry.propertyCode}  ${entry.resource} ${JSON.stringify(entry.key)}\n  ${entry.code}: ${entry.message}`,
    )
    .join("\n")}\n`;
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
  const [verb, requestId, indexText] = positionals;
  if (values.help || verb === undefined) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  if (verb === "list" && /^\d{1,5}$/.test(values.limit)) {
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
  const named = /^[0-9a-f-]{36}$/.test(requestId ?? "") && /^\d{1,6}$/.test(indexText ?? "");
  if ((verb === "release" || verb === "discard") && named && requestId !== undefined) {
    const target = { requestId, index: Number(indexText) };
    return openForCommand(environment, (context) => resolve(context, verb, target, values.json));
  }
  process.stderr.write(HELP);
  return 2;
}
