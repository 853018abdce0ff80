import { closeSync, existsSync, globSync, openSync, writeSync } from "node:fs";
import {
  progressLine,
  type RefusedRecord,
  type Resource,
  SendError,
  type SendProgress,
  type SendReport,
  type UnconfirmedRecords,
} from "#client";
import { timeText } from "#client/progress-bar.ts";
import { RESOURCES } from "#contract/resource.ts";
import {
  choice,
  count,
  flag,
  type Noun,
  required,
  text,
  texts,
  verb,
  withDefault,
} from "../../cli/command.ts";
import { type Columns, figure, itemTable, printable } from "../../cli/output.ts";
import { untilStopped } from "../../cli/stop-signals.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { type FileRecord, recordsText, UnreadableFile } from "../file-record.ts";
import { checkOffline, openFile, sizeOf } from "../file-records.ts";
import { CREDENTIALS_DETAILS, PARTNER_OPTIONS, partnerClient, readPartner } from "../partner-client.ts";
import { warningTable } from "../warning-table.ts";

const NOT_SENT = 1;
const SOME_REFUSED = 3;
const UNCONFIRMED_LISTED_MAX = 5;
const REQUESTS_LISTED_MAX = 3;
const BATCH_MAX = 10_000;
const CONCURRENCY_MAX = 64;
/** Show a longer wait for a response. */
const SILENT_MS = 3_000;

interface SentFile {
  readonly file: string;
  readonly resource: Resource;
  readonly report: SendReport;
  readonly refusals: Refusals;
  readonly seconds: number;
  /** The error that stopped the file; undefined if everything was sent. */
  readonly failure: Failure | undefined;
}

interface Failure {
  readonly message: string;
  readonly code: string;
  /** Whether the same command would fail again. */
  readonly isLasting: boolean;
  /** The service's. */
  readonly address: string;
}

/** Position in the file, which includes records refused offline. */
const placeOf = ({ given }: UnconfirmedRecords): number => (given as FileRecord).place;

function refusedJson({ index, outcome, code, message, violations }: RefusedRecord): object {
  const listed = violations.map((one) => ({ pointer: one.pointer, code: one.code, message: one.message }));
  return { index, outcome, code, message, violations: listed };
}

function sentJson({ file, resource, report, refusals, seconds, failure }: SentFile) {
  const { accepted, batches, replayedBatches, outcomes = null, retries } = report;
  const unconfirmed = report.unconfirmed.map((one) => {
    const { count: records, reason, code = null, status = null, requestId = null } = one;
    return { first: placeOf(one), count: records, reason, code, status, requestId };
  });
  return {
    file,
    resource,
    complete: failure === undefined,
    failure: failure?.message ?? null,
    records: report.records + refusals.keptBack,
    accepted,
    rejected: report.rejectedTotal + refusals.keptBack,
    batches,
    requestIds: report.requestIds,
    replayedBatches,
    outcomes,
    retries,
    unconfirmed,
    refused: refusals.listed.map(refusedJson),
    warned: report.warned.map(({ record, warnings }) => ({ index: (record as FileRecord).place, warnings })),
    seconds: Math.round(seconds * 10) / 10,
  };
}

function unconfirmedLine(one: UnconfirmedRecords): string {
  const answer = one.status === undefined ? "" : ` (${one.status}, request ${one.requestId ?? "unknown"})`;
  return `${unconfirmedText(one)} not confirmed: ${printable(one.reason)}${printable(answer)}`;
}

function unconfirmedText({ given, count }: UnconfirmedRecords): string {
  const { isOfCsv, line, place } = given as FileRecord;
  if (isOfCsv)
    return count === 1 ? `the record of line ${line} was` : `${count} records from line ${line} on were`;
  return count === 1 ? `record ${place} was` : `records ${place}–${place + count - 1} were`;
}

function outcomesLine(outcomes: NonNullable<SendReport["outcomes"]>): string {
  const { warned, ...ends } = outcomes;
  const counted = Object.entries(ends).filter(([, records]) => records > 0);
  const wordsOf = ([end, records]: (typeof counted)[number]) =>
    `${end} ${figure(records)}${end === "duplicate" ? " (accepted before; nothing stored twice)" : ""}`;
  const words = counted.map(wordsOf).join(", ") || "no outcomes";
  return `  ${words}${warned > 0 ? `; ${figure(warned)} with warnings` : ""}`;
}

function sentLines({ file, resource, report, refusals, seconds, failure }: SentFile): string[] {
  const { outcomes, records, accepted, unconfirmed } = report;
  const rejected = report.rejectedTotal + refusals.keptBack;
  const quarantined = (outcomes?.quarantined ?? 0) + (outcomes?.discarded ?? 0);
  const name = file === "-" ? "standard input" : printable(file);
  const { listed } = refusals;
  const columns: Columns<RefusedRecord> = {
    [numberName(listed[0]?.record)]: ({ record }) => numberOf(record as FileRecord),
    OUTCOME: "outcome",
    POINTER: ({ violations }) => violations[0]?.pointer || "-",
    CODE: "code",
    REASON: "message",
  };
  const more = rejected + quarantined - listed.length;
  const unlisted = unconfirmed.length - UNCONFIRMED_LISTED_MAX;
  // The service did not answer before the first record was read.
  const isUnread = failure !== undefined && records + refusals.keptBack === 0;
  const sums = `${recordsText(records + refusals.keptBack, resource)}, ${figure(accepted)} accepted in ${batchesText(report)}, ${figure(rejected)} rejected, ${seconds.toFixed(1)} s`;
  return [
    ...(isUnread ? [] : [`${name}: ${sums}`]),
    ...(outcomes === undefined ? [] : [outcomesLine(outcomes)]),
    ...requestLines(report),
    ...warningLines(report),
    ...(listed.length === 0 ? [] : ["", ...itemTable(columns, listed)]),
    ...(listed.length > 0 && more > 0 ? [`${figure(more)} more: --rejected FILE writes all of them.`] : []),
    ...unconfirmed.slice(0, UNCONFIRMED_LISTED_MAX).map(unconfirmedLine),
    ...(unlisted > 0 ? [`${figure(unlisted)} more batches: --json lists them.`] : []),
    ...(failure === undefined
      ? []
      : [`${isUnread ? `${name}: ` : ""}${printable(failureLine(failure, accepted, isUnread))}`]),
  ];
}

function batchesText({ batches, replayedBatches }: SendReport): string {
  const all = `${figure(batches)} ${batches === 1 ? "batch" : "batches"}`;
  return replayedBatches === 0 ? all : `${all} (${figure(replayedBatches)} accepted before)`;
}

function requestLines({ requestIds, batches }: SendReport): string[] {
  if (requestIds.length === 0) return [];
  const listed = requestIds.slice(0, REQUESTS_LISTED_MAX);
  const more = batches - listed.length;
  return [
    `  requests ${listed.join(", ")}${more > 0 ? `, and ${figure(more)} more: --json lists them` : ""}`,
  ];
}

function warningLines({ warned, outcomes }: SendReport): string[] {
  const rows = warned.flatMap(({ record, warnings }) =>
    warnings.map(({ pointer, code, message }) => {
      const own = record as FileRecord;
      return { pointer, code, message: own.located(pointer, message), place: numberOf(own) };
    }),
  );
  const first = numberName(warned[0]?.record);
  return warningTable(rows, outcomes?.warned ?? 0, first, "--json lists up to 1,000");
}

/** How the report names a record: its line in a CSV file, otherwise its position from 0. */
const numberOf = ({ isOfCsv, line, place }: FileRecord): number => (isOfCsv ? line : place);
const numberName = (record: unknown) => ((record as FileRecord | undefined)?.isOfCsv ? "LINE" : "RECORD");

/** What stopped a send, and what to do: an error that the same command would meet again is to be corrected first. */
function failureLine(
  { message, code, isLasting, address }: Failure,
  accepted: number,
  isUnread: boolean,
): string {
  const begin = accepted === 0 ? "Nothing was sent" : "Incomplete";
  if (!isLasting)
    return `${isUnread ? begin : "Incomplete"}: ${message} Run the same command again${isUnread ? "" : " to resume"}.`;
  if (code === "oauth.invalid_client")
    return `${begin}: the service at ${address} refused the client id or secret. Correct BELLHOP_CLIENT_ID and BELLHOP_CLIENT_SECRET.`;
  if (code === "client.UnreadableInput") return `${begin}: ${message} Correct the file.`;
  if (code === "http.404" || code === "bellhop.http.NotFound")
    return `${begin}: ${address} is not the address of a Bellhop service (404). ${addressAdvice(address)}`;
  return `${begin}: ${message} (${address}) The same command would fail again: correct this first.`;
}

function addressAdvice(address: string): string {
  const shorter = address.replace(/\/api(\/.*)?$/s, "");
  return shorter === address ? "Correct --url or BELLHOP_URL." : `Give the address without /api: ${shorter}`;
}

function exitCodeOf({ report, refusals, failure }: SentFile, stopped: number | undefined): number {
  if (failure !== undefined) return stopped ?? NOT_SENT;
  const { quarantined = 0, discarded = 0, rejected = 0, pending = 0 } = report.outcomes ?? {};
  const unsettled = report.rejectedTotal + refusals.keptBack + quarantined + discarded + rejected + pending;
  return unsettled === 0 ? 0 : SOME_REFUSED;
}

/** Throws UsageError. */
function requireWithin(name: string, value: number | undefined, max: number): void {
  if (value !== undefined && (value < 1 || value > max))
    throw new UsageError(`${name} must be a whole number from 1 to ${figure(max)}, not "${value}".`);
}

/** The report, also of a failed send. */
async function reportOf(
  sending: Promise<SendReport>,
  address: string,
): Promise<Pick<SentFile, "report" | "failure">> {
  try {
    return { report: await sending, failure: undefined };
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    const { report, message, exception, retryable, cause } = error;
    const isFile = cause instanceof UnreadableFile;
    const code = isFile ? "client.UnreadableInput" : exception;
    const isLasting = isFile || (!retryable && exception !== "client.Interrupted");
    return { report, failure: { message, code, isLasting, address } };
  }
}

/** Files by name or pattern, for shells that do not expand patterns; `-` is standard input. Throws UsageError if none matches. */
async function findFiles(names: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const name of names) {
    const isPattern = /[*?[]/.test(name) && !existsSync(name);
    const found = isPattern ? globSync(name).sort() : [name];
    if (found.length === 0) throw new UsageError(`No file matches ${name}.`);
    files.push(...found);
  }
  for (const file of files) if (file !== "-") await sizeOf(file);
  return files;
}

function manyLines(sent: readonly SentFile[], remaining: readonly string[], seconds: number): string[] {
  const accepted = sent.reduce((sum, { report }) => sum + report.accepted, 0);
  const files = `${figure(sent.length)} of ${figure(sent.length + remaining.length)} files`;
  return [
    `${files}: ${figure(accepted)} accepted, ${seconds.toFixed(1)} s`,
    ...(remaining.length === 0 ? [] : [`Not begun: ${remaining.map(printable).join(", ")}`]),
  ];
}

function manyJson(sent: readonly SentFile[], remaining: readonly string[], seconds: number): object {
  const all = sent.map(sentJson);
  const sum = (name: "records" | "accepted" | "rejected") => all.reduce((total, one) => total + one[name], 0);
  return {
    files: all,
    complete: remaining.length === 0 && sent.every(({ failure }) => failure === undefined),
    remaining,
    records: sum("records"),
    accepted: sum("accepted"),
    rejected: sum("rejected"),
    seconds: Math.round(seconds * 10) / 10,
  };
}

/** Progress of a send. Without responses it shows the time since the last one. */
class SendLine {
  #latest: { readonly progress: SendProgress; readonly atMs: number } | undefined;
  readonly #title: string;
  readonly #share: () => number | undefined;

  constructor(title: string, share: () => number | undefined) {
    this.#title = title;
    this.#share = share;
  }

  note(progress: SendProgress): void {
    this.#latest = { progress, atMs: performance.now() };
  }

  readonly text = (): string => {
    if (this.#latest === undefined) return this.#title;
    const { progress, atMs } = this.#latest;
    const silentMs = performance.now() - atMs;
    const silence = silentMs < SILENT_MS ? "" : `  no answer for ${timeText(silentMs)}`;
    const now = { ...progress, elapsedMs: progress.elapsedMs + silentMs, waiting: undefined };
    const { accepted, rejected, records } = progress;
    // Records are read ahead of their responses.
    const settled = (accepted + rejected) / Math.max(1, records);
    const read = this.#share();
    const share = () => (read === undefined ? undefined : read * settled);
    return `${this.#title}${progressLine(now, { share })}${silence}`;
  };
}

const own = verb({
  summary: "send files of records and report their outcomes",
  details:
    "A file is a JSON array, NDJSON (one record per line) or CSV with the fields' names in its first line (bellhop template), plain or gzip, of any size. Several are sent one after another. Interrupted and " +
    `run again, it resumes: no record is applied twice or omitted. ${CREDENTIALS_DETAILS}`,
  args: {
    files: required(texts("FILE", "a file, or a pattern in quotes; - is standard input")),
  },
  options: {
    resource: choice("RESOURCE", RESOURCES, "resource of the records", "detected from the first one"),
    ...PARTNER_OPTIONS,
    lenient: flag("also send invalid records; the service stores them as rejected"),
    backfill: text("ID", "assign the batches to this backfill"),
    noCheck: flag("do not validate before sending"),
    noWait: flag("do not wait for outcomes"),
    rejected: text("FILE", "write a report of the rejected records to this file, as NDJSON"),
    batch: withDefault(count("records per batch, 1 to 10,000"), undefined, "500"),
    concurrency: withDefault(count("batches sent at the same time, 1 to 64"), undefined, "4"),
  },
  examples: [
    "send reservations.ndjson.gz",
    "send monday.json tuesday.json '2026-*.ndjson.gz'",
    "send bookings.csv",
    "send inventories.json --url https://bellhop.example --rejected refused.ndjson",
  ],
  json: '{"file", "resource", "complete", "failure", "records", "accepted", "rejected", "batches", "requestIds", "replayedBatches", "outcomes", "retries", "unconfirmed", "refused", "warned", "seconds"}; of several files {"files", "complete", "remaining", "records", "accepted", "rejected", "seconds"}',
  exitCodes:
    "0 every record was accepted; 1 incomplete: run again to resume, or correct what the message names; 2 usage error; 3 all sent, some records rejected or quarantined; 130, 143 stopped by SIGINT, SIGTERM, run again to resume.",
  run: async (values, context) => {
    const { output, progress, json } = context;
    const { batch, concurrency, backfill, lenient, noCheck, noWait } = values;
    requireWithin("--batch", batch, BATCH_MAX);
    requireWithin("--concurrency", concurrency, CONCURRENCY_MAX);
    const partner = await readPartner(values, context);
    const bellhop = partnerClient({ ...partner, concurrency }, context);
    const files = await findFiles(values.files);
    const rejected = values.rejected === undefined ? undefined : openSync(values.rejected, "w");
    const stopped = untilStopped();
    const sendFile = async (file: string, title: string): Promise<SentFile> => {
      const startedAt = performance.now();
      const { resource, records, share } = await openFile(file, values.resource);
      const refusals = new Refusals(file, rejected);
      const line = new SendLine(title, share);
      progress.show(`${title}waiting for an answer of ${printable(partner.baseUrl)}`);
      const run = await reportOf(
        bellhop[resource].send(noCheck || lenient ? records : refusals.keepBack(resource, records), {
          batchRecords: batch,
          waitForOutcomes: !noWait,
          lenient,
          headers: backfill === undefined ? {} : { "backfill-id": backfill },
          signal: stopped.signal,
          onRefused: (refused) => {
            const isOfJson = refused.code.startsWith("json.");
            // The service's positions are within the batch; validate again for those in the file.
            const own = isOfJson ? refusedOffline(resource, refused.record as FileRecord) : undefined;
            refusals.add(own ?? located(refused));
          },
          onProgress: (soFar) => {
            if (soFar.waiting === undefined) progress.resume();
            line.note(soFar);
            progress.show(line.text);
          },
        }),
        partner.baseUrl,
      );
      return { file, resource, ...run, refusals, seconds: (performance.now() - startedAt) / 1000 };
    };
    const startedAt = performance.now();
    const sent: SentFile[] = [];
    try {
      for (const [at, file] of files.entries()) {
        const one = await sendFile(file, files.length === 1 ? "" : `${file}, ${at + 1} of ${files.length}  `);
        sent.push(one);
        if (!json) for (const text of sentLines(one)) output.line(text);
        if (one.failure !== undefined) break;
      }
      const remaining = files.slice(sent.length);
      const [only] = sent;
      if (files.length === 1 && only !== undefined) {
        if (json) output.result(sentJson(only), []);
      } else {
        const seconds = (performance.now() - startedAt) / 1000;
        output.result(manyJson(sent, remaining, seconds), manyLines(sent, remaining, seconds));
      }
      const codes = sent.map((one) => exitCodeOf(one, stopped.code()));
      return codes.find((code) => code !== 0 && code !== SOME_REFUSED) ?? Math.max(...codes);
    } finally {
      stopped.forget();
      if (rejected !== undefined) closeSync(rejected);
    }
  },
});

export const command: Noun = { own };

/** The refusal of a record that is invalid by the service's rules, with positions in the file. */
function refusedOffline(resource: Resource, record: FileRecord): RefusedRecord | undefined {
  const { place: index } = record;
  const { violations } = checkOffline(resource, record);
  const [first] = violations;
  if (first === undefined) return undefined;
  const own = violations.map((one) => {
    const pointer = one.pointer.replace(/^\/\d+/, "");
    return { ...one, index, record, pointer, message: record.located(pointer, one.message) };
  });
  const { code } = first;
  const message = own[0]?.message ?? first.message;
  return { index, record, outcome: "rejected", code, message, violations: own, requestId: undefined };
}

/** A refusal by the service, in a CSV file with lines and columns. */
function located(refused: RefusedRecord): RefusedRecord {
  const record = refused.record as FileRecord;
  const violations = refused.violations.map((one) => {
    const message = record.advised(one.pointer, one.message);
    return { ...one, message: record.located(one.pointer, message) };
  });
  return { ...refused, violations, message: violations[0]?.message ?? record.located("", refused.message) };
}

/** Refused records listed in the report; the file of `--rejected` has all. */
const LISTED_MAX = 20;

/** Records of a file refused offline or by the service, indexed by position in the file. */
class Refusals {
  readonly listed: RefusedRecord[] = [];
  /** Number of records refused offline and not sent. */
  keptBack = 0;
  readonly #name: string;
  readonly #file: number | undefined;

  /** `name`: of the input file. `file`: descriptor that all refusals are written to, as NDJSON. */
  constructor(name: string, file: number | undefined) {
    this.#name = name;
    this.#file = file;
  }

  /** Adds a rejected or quarantined record. */
  add(refused: RefusedRecord): void {
    const record = refused.record as FileRecord;
    const own = { ...refused, index: record.place };
    if (this.listed.length < LISTED_MAX) this.listed.push(own);
    if (this.#file === undefined) return;
    const { requestId = null } = refused;
    const { line: at } = record;
    const line = { file: this.#name, line: at, ...refusedJson(own), requestId, record: record.toString() };
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  /** Yields valid records, and withholds those invalid by the service's rules. */
  async *keepBack(
    resource: Resource,
    records: AsyncIterable<FileRecord>,
  ): AsyncGenerator<FileRecord, void, undefined> {
    for await (const record of records) {
      const refused = refusedOffline(resource, record);
      if (refused === undefined) {
        yield record;
        continue;
      }
      this.keptBack += 1;
      this.add(refused);
    }
  }
}
