import { closeSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { FeedPosition, RecordOutcome, RequestStatus } from "#client";
import { RESOURCES } from "#contract/resource.ts";
import {
  type CommandContext,
  choice,
  duration,
  flag,
  type Noun,
  REQUEST_ID,
  text,
  verb,
  withDefault,
} from "../../cli/command.ts";
import { type Columns, fields, itemTable, jsonLine } from "../../cli/output.ts";
import { untilStopped } from "../../cli/stop-signals.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { spanText } from "../../platform/runtime/amounts.ts";
import { createOwnFile } from "../../platform/runtime/own-files.ts";
import { recordsText } from "../file-record.ts";
import { CREDENTIALS_DETAILS, PARTNER_OPTIONS, partnerClient, readPartner } from "../partner-client.ts";
import { warningTable } from "../warning-table.ts";

const LISTED = 20;
const SOME_REFUSED = 3;

/** `isWhole`: `records` has every record. */
export function statusLines(
  { requestId, status, resource, counts, records }: RequestStatus,
  isWhole: boolean,
): string[] {
  const { records: all, warned, ...outcomes } = counts;
  const counted = Object.entries({ ...outcomes, "with warnings": warned }).filter(([, number]) => number > 0);
  const listed = isWhole ? records : records.filter(({ outcome }) => outcome !== "applied");
  const columns: Columns<RecordOutcome> = {
    POINTER: "pointer",
    OUTCOME: "outcome",
    KEY: "key",
    CODE: "code",
    REASON: ({ message }) => message ?? "",
  };
  const warnings = records.flatMap(({ index, warnings: own }) =>
    own.map((one) => ({ ...one, pointer: one.pointer.replace(/^\/\d+/, ""), place: index })),
  );
  return [
    ...fields([
      ["request", requestId],
      ["status", status],
      ["records", recordsText(all, resource)],
      ...counted.map(([name, number]) => [name, String(number)] as const),
    ]),
    ...warningTable(
      warnings,
      warned,
      "RECORD",
      "--all lists every record",
      isWhole ? warnings.length : LISTED,
    ),
    ...(listed.length === 0 ? [] : ["", ...itemTable(columns, listed)]),
  ];
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

/** Written to a temporary file and renamed, so that a kill leaves the previous or the new cursor. */
function saveCursor(path: string, { cursor }: FeedPosition): void {
  const file = createOwnFile(`${path}.new`);
  writeFileSync(file, `${cursor}\n`);
  closeSync(file);
  renameSync(`${path}.new`, path);
}

/** Waits until the line is written, so that the cursor does not pass an unread change. A broken pipe ends the process (output.ts). */
async function writeLine(line: string): Promise<void> {
  await new Promise<void>((written) => {
    process.stdout.write(`${line}\n`, (error) => {
      if (!error) written();
    });
  });
}

const FEED_OPTIONS = {
  changes: flag("follow the change feed instead of a request"),
  state: text("FILE", "file for the feed's cursor; the next run continues there"),
  cursor: text("CURSOR", "continue at the cursor of an earlier change"),
  from: choice("now", ["now"], "only changes from now on"),
  untilCaughtUp: flag("stop when all current changes are printed"),
  resource: choice("RESOURCE", RESOURCES, "only changes of this resource"),
  client: text("CLIENTCODE", "only changes of this client code"),
  property: text("PROPERTYCODE", "only changes of this property; needs --client"),
};

const own = verb({
  summary: "follow a request or the change feed",
  details: `Waits until a request is applied and prints its outcomes; with --changes, prints each change of the feed as a line of JSON until it is stopped. ${CREDENTIALS_DETAILS}`,
  args: { requestId: REQUEST_ID },
  options: {
    for: withDefault(duration("how long to wait for the request"), 600, "10m"),
    all: flag("list every record of the request (default: the first 20 not applied or with warnings)"),
    ...FEED_OPTIONS,
    ...PARTNER_OPTIONS,
  },
  examples: [
    "watch 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 --for 2m",
    "watch --changes --state cursor.txt --resource reservations",
  ],
  json: 'the request as GET /api/public/v1/requests/ID: {"requestId", "status", "resource", "counts", "records", ...}',
  exitCodes:
    "0 applied, or the feed was followed until it was stopped; 1 not applied in time, or not readable; 2 usage error; 3 applied, with rejected or quarantined records.",
  run: async (values, context) => {
    const { requestId, changes } = values;
    if (changes === (requestId !== undefined)) throw new UsageError("Pass a request id, or --changes.");
    if (changes && values.all) throw new UsageError("--all needs a request id.");
    if (values.property !== undefined && values.client === undefined)
      throw new UsageError("--property needs --client.");
    const bellhop = partnerClient(await readPartner(values, context), context);
    const { progress } = context;
    const stopped = untilStopped();
    const { signal } = stopped;
    try {
      if (requestId !== undefined) {
        progress.show(`waiting until the request is applied, at most ${spanText(values.for)}`);
        const options = { withinMs: values.for * 1000, limit: LISTED, signal };
        const status = await bellhop.requests.untilApplied(requestId, options);
        const isWhole = values.all && status.status === "applied";
        if (!isWhole) return printStatus(status, false, context);
        const records = await Array.fromAsync(
          bellhop.requests.outcomes(requestId, { outcome: "all", signal }),
        );
        return printStatus({ ...status, records, nextCursor: null }, true, context);
      }
      const { state, from, resource, client: clientCode, property: propertyCode, untilCaughtUp } = values;
      const cursor = readCursor(state) ?? values.cursor;
      // All earlier changes are written, so a killed process repeats some and skips none.
      const onCursor = (position: FeedPosition) => {
        // An endless watch shows nothing but outages.
        if (!untilCaughtUp) progress.show(undefined);
        if (state !== undefined) saveCursor(state, position);
      };
      const filter = { from, resource, clientCode, propertyCode, untilCaughtUp };
      const feed = bellhop.changes({ ...filter, cursor, signal, onCursor });
      progress.show(untilCaughtUp ? "reading the change feed" : "following the change feed until stopped");
      for await (const change of feed) {
        progress.clear();
        await writeLine(jsonLine(change));
      }
      return 0;
    } catch (error) {
      if (!signal.aborted) throw error;
      return changes ? 0 : (stopped.code() ?? 1);
    } finally {
      stopped.forget();
    }
  },
});

function printStatus(status: RequestStatus, isWhole: boolean, { output }: CommandContext): number {
  output.result(status, statusLines(status, isWhole));
  const { quarantined, rejected, discarded } = status.counts;
  if (status.status !== "applied") return 1;
  return quarantined + rejected + discarded === 0 ? 0 : SOME_REFUSED;
}

export const command: Noun = { own };
