import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { BellhopClient, FeedPosition, RequestStatus } from "#client";
import { readResource } from "./file-records.ts";
import { openPartnerClient, PARTNER_HELP, PARTNER_OPTIONS } from "./partner-connection.ts";
import { untilStopped } from "./stop-signals.ts";
import { fieldLines, printable, tableLines } from "./text-output.ts";
import { usageOf } from "./usage.ts";
import { readArgs, readDuration, readOne, UsageError } from "./verb.ts";

const HELP = `bellhop watch REQUEST_ID [--for 10m] [--json] [options]
bellhop watch --changes [--state FILE] [--cursor CURSOR | --from now] [--until-caught-up] [--resource R]
              [--client-code CODE] [--property-code CODE] [options]

Waits until a request is applied, and says what became of its records; or follows the change feed, each change as a line of
JSON on standard output, until it is stopped.

  --for TIME           how long a request is waited for (10m)
  --json               what became of the request as one JSON object
  --state FILE         where the feed's cursor is kept, and gone on from at the next start
  --cursor CURSOR      where to go on, as an earlier change had it
  --from now           only what changes from now on
  --until-caught-up    end once everything is told
${PARTNER_HELP}

Exit code 0: applied, or the feed was followed to its end or until it was stopped. 1: not applied in time, or it cannot be
read. 2: the line is wrong. 3: applied, and some records were rejected or are held aside.
`;

const OPTIONS = {
  ...PARTNER_OPTIONS,
  for: { type: "string" },
  json: { type: "boolean", default: false },
  changes: { type: "boolean", default: false },
  state: { type: "string" },
  cursor: { type: "string" },
  from: { type: "string" },
  "until-caught-up": { type: "boolean", default: false },
  resource: { type: "string" },
  "client-code": { type: "string" },
  "property-code": { type: "string" },
  help: { type: "boolean", default: false },
} as const;

const WATCHED_S = 600;
const LISTED = 20;
const SOME_REFUSED = 3;

function readLine(args: readonly string[]) {
  return readArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

type Values = ReturnType<typeof readLine>["values"];

function tellRequest({ requestId, status, resource, counts, records }: RequestStatus): void {
  const { records: all, warned, ...ends } = counts;
  const told = Object.entries(ends).filter(([, count]) => count > 0);
  const lines = fieldLines([
    ["request", requestId],
    ["status", status],
    ["records", `${all} ${resource}`],
    ...told.map(([end, count]): [string, string] => [end, String(count)]),
    ...(warned > 0 ? [["with warnings", String(warned)] satisfies [string, string]] : []),
  ]);
  const listed = records.filter(({ outcome }) => outcome !== "applied");
  if (listed.length > 0) {
    const rows = listed.map(({ pointer, outcome, key, code, message }) => {
      return [pointer, outcome, key ?? "-", code ?? "-", message ?? ""];
    });
    lines.push("", ...tableLines(["POINTER", "OUTCOME", "KEY", "CODE", "WHY"], rows));
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}

async function watchRequest(bellhop: BellhopClient, requestId: string, values: Values): Promise<number> {
  const stopped = untilStopped();
  try {
    const withinMs = (readDuration("for", values.for) ?? WATCHED_S) * 1000;
    const { signal } = stopped;
    const status = await bellhop.requests.untilApplied(requestId, { withinMs, limit: LISTED, signal });
    if (values.json) process.stdout.write(`${JSON.stringify(status)}\n`);
    else tellRequest(status);
    const { quarantined, rejected, discarded } = status.counts;
    if (status.status !== "applied") return 1;
    return quarantined + rejected + discarded === 0 ? 0 : SOME_REFUSED;
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    return stopped.code() ?? 1;
  } finally {
    stopped.forget();
  }
}

function readCursor(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaced whole: a kill leaves the cursor from before or the one from after. */
function keepCursor(path: string, { cursor }: FeedPosition): void {
  writeFileSync(`${path}.new`, `${cursor}\n`);
  renameSync(`${path}.new`, path);
}

async function watchChanges(bellhop: BellhopClient, values: Values): Promise<number> {
  const { state, from } = values;
  if (from !== undefined && from !== "now") throw new UsageError("--from takes now.");
  const stopped = untilStopped();
  const changes = bellhop.changes({
    cursor: readCursor(state) ?? values.cursor,
    from,
    resource: readResource(values.resource),
    clientCode: values["client-code"],
    propertyCode: values["property-code"],
    untilCaughtUp: values["until-caught-up"],
    signal: stopped.signal,
    // All changes before it are written by now: what a kill cuts off is told again, and nothing is left out.
    onCursor: (position) => {
      if (state !== undefined) keepCursor(state, position);
    },
  });
  try {
    for await (const change of changes) await writeLine(JSON.stringify(change));
    return 0;
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    return 0;
  } finally {
    stopped.forget();
  }
}

/** Waits until a line is out: the cursor must not pass what nobody has read. What cannot be written ends the command (end-when-nobody-reads.ts). */
async function writeLine(line: string): Promise<void> {
  await new Promise<void>((written) => {
    process.stdout.write(`${line}\n`, (error) => {
      if (!error) written();
    });
  });
}

/** `bellhop watch`: follows a request, or the change feed. Answers the exit code. */
export function watchCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("watch", HELP, args, async () => {
    const { values, positionals } = readLine(args);
    if (values.changes === positionals.length > 0)
      throw new UsageError("Say what to watch: the id of a request, or --changes.");
    const requestId = values.changes ? "" : printable(readOne("REQUEST_ID", positionals));
    const bellhop = await openPartnerClient(values, environment);
    return values.changes
      ? await watchChanges(bellhop, values)
      : await watchRequest(bellhop, requestId, values);
  });
}
