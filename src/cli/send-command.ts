import { BellhopClient, progressBar, SendError, type SendReport } from "#client";
import { type OpenedFile, openFile, readResource } from "./file-records.ts";
import { PARTNER_HELP, PARTNER_OPTIONS, type PartnerIdentity, readPartner } from "./partner-connection.ts";
import { FileJournal } from "./send-journal.ts";
import { Refusals } from "./send-refusals.ts";
import { type SentFile, sentJson, sentLines } from "./send-report.ts";
import { untilStopped } from "./stop-signals.ts";
import { usageOf } from "./usage.ts";
import { readArgs, readCount, readOne } from "./verb.ts";

const HELP = `bellhop send FILE|- [--resource inventories|reservations|groups] [options]

Sends the records of a file (- is standard input) to a service, in batches, and reports what became of them. The file is a
JSON array or NDJSON (a record a line), plain or gzip; it is read as it is sent, so its size does not matter. Killed and
started again it goes on where it stopped: nothing twice, nothing missing.

  --resource R         what the records are; by default what the first one shows
${PARTNER_HELP}
  --lenient            invalid records are sent, too, and kept by the service as rejected; without it they stay here
  --backfill ID        the batches belong to this backfill
  --no-check           leave it to the service to find invalid records
  --no-wait            do not wait for outcomes
  --state FILE         where it is noted what has been accepted; by default FILE.bellhop-send, removed at the end
  --rejected FILE      writes every record that was refused, with its reasons, as NDJSON
  --batch N            records of a batch, 1 to 10,000 (500)
  --concurrency N      batches under way at once, 1 to 64 (4)
  --json               the report as one JSON object

Exit code 0: every record was accepted. 1: not all could be sent; the same line sends what is missing. 2: the line is
wrong. 3: all is sent, and some records were refused or are held aside. 130, 143: stopped by SIGINT, SIGTERM; the same line
goes on.
`;

const OPTIONS = {
  ...PARTNER_OPTIONS,
  resource: { type: "string" },
  lenient: { type: "boolean", default: false },
  backfill: { type: "string" },
  "no-check": { type: "boolean", default: false },
  "no-wait": { type: "boolean", default: false },
  state: { type: "string" },
  rejected: { type: "string" },
  batch: { type: "string" },
  concurrency: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const NOT_SENT = 1;
const SOME_REFUSED = 3;

type Values = ReturnType<typeof readLine>["values"];

function readLine(args: readonly string[]) {
  return readArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

/** Where it is noted what was accepted: of standard input only where that is said, for it cannot be read again. */
function openJournal(file: string, values: Values, partner: PartnerIdentity): FileJournal | undefined {
  const path = values.state ?? (file === "-" ? undefined : `${file}.bellhop-send`);
  if (path === undefined) return undefined;
  return FileJournal.open(path, { url: partner.baseUrl, clientId: partner.clientId });
}

interface Run {
  readonly report: SendReport;
  readonly failure: string | undefined;
}

async function sendOpened(
  bellhop: BellhopClient,
  { resource, records, share }: OpenedFile,
  values: Values,
  parts: {
    readonly refusals: Refusals;
    readonly journal: FileJournal | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Run> {
  const { refusals, journal, signal } = parts;
  const isChecked = !values["no-check"] && !values.lenient;
  const draw = progressBar(process.stderr, { share });
  try {
    const report = await bellhop[resource].send(isChecked ? refusals.keepBack(resource, records) : records, {
      batchRecords: readCount("batch", values.batch),
      waitForOutcomes: !values["no-wait"],
      lenient: values.lenient,
      headers: values.backfill === undefined ? {} : { "backfill-id": values.backfill },
      journal,
      signal,
      onRefused: (refused) => refusals.add(refused),
      onProgress: draw,
    });
    return { report, failure: undefined };
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    return { report: error.report, failure: error.message };
  } finally {
    if (process.stderr.isTTY === true) process.stderr.write("\r\u001b[2K");
  }
}

function exitCodeOf({ report, refusals, failure }: SentFile, stopped: number | undefined): number {
  if (failure !== undefined) return stopped ?? NOT_SENT;
  const { quarantined = 0, discarded = 0, rejected = 0, pending = 0 } = report.outcomes ?? {};
  const unsettled = report.rejectedTotal + refusals.keptBack + quarantined + discarded + rejected + pending;
  return unsettled === 0 ? 0 : SOME_REFUSED;
}

async function sendFile(file: string, values: Values, environment: NodeJS.ProcessEnv): Promise<number> {
  const partner = await readPartner(values, environment);
  const bellhop = new BellhopClient({
    ...partner,
    concurrency: readCount("concurrency", values.concurrency),
  });
  const opened = await openFile(file, readResource(values.resource));
  const journal = openJournal(file, values, partner);
  const refusals = new Refusals(values.rejected);
  const stopped = untilStopped();
  const startedAt = performance.now();
  let isDone = false;
  try {
    const { signal } = stopped;
    const run = await sendOpened(bellhop, opened, values, { refusals, journal, signal });
    isDone = run.failure === undefined;
    const sent = { file, resource: opened.resource, ...run, refusals };
    const told: SentFile = { ...sent, seconds: (performance.now() - startedAt) / 1000 };
    const lines = values.json ? [JSON.stringify(sentJson(told))] : sentLines(told);
    process.stdout.write(`${lines.join("\n")}\n`);
    return exitCodeOf(told, stopped.code());
  } finally {
    stopped.forget();
    refusals.close();
    journal?.close(isDone);
  }
}

/** `bellhop send FILE|-`: sends a file of records. Answers the exit code. */
export function sendCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("send", HELP, args, async () => {
    const { values, positionals } = readLine(args);
    return await sendFile(readOne("FILE", positionals), values, environment);
  });
}
