/**
 * `node bench/telemetry-off.ts [--rounds 12] [--share 1]`: what telemetry costs where no collector is named (docs/decisions/0015), from what
 * is done then that was not done before there was any: comparisons, readings of the clock for the log of slow requests and statements, a column that
 * is null. Each is measured by itself, in nanoseconds, and their sum is set against the CPU time of a batch of one by the
 * service, in the same run: two services that differ by so little cannot be distinguished by their own CPU time.
 */
import { readFileSync } from "node:fs";
import type pg from "pg";
import { readOptions } from "../scripts/read-options.ts";
import { watchStatements } from "../src/platform/db/connection.ts";
import { readStatement } from "../src/platform/db/statement.ts";
import { beginTrace } from "../src/platform/http/request-log.ts";
import { noWaits, sumOfWaits } from "../src/platform/telemetry/log.ts";
import type { Tracer } from "../src/platform/telemetry/opentelemetry.ts";
import { packTraceContext } from "../src/platform/telemetry/telemetry.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { LoadProcess } from "./load-process.ts";
import { machineLine, machineOf } from "./machine.ts";
import { startService } from "./started-service.ts";
import { countStatements } from "./statement-times.ts";
import { median } from "./statistics.ts";

const USAGE = `node bench/telemetry-off.ts [--rounds 12] [--share 1]

What telemetry costs where no collector is named: nanoseconds of what is done then, as a share of a batch of one. Linux only.

  --rounds N   rounds of the service, after three that are not counted
  --share S    of a bench's records in a round`;

const values = readOptions(USAGE, {
  rounds: { type: "string", default: "12" },
  share: { type: "string", default: "1" },
});

const WARM_UP_ROUNDS = 3;
const NANOSECONDS_A_MILLISECOND = 1e6;
/** What is run so often at once is compiled, and found in the caches. */
const WARM_RUNS = 200_000;
const WARM_REPEATS = 15;
/** What other requests do in between takes the caches: reading so much does, too. */
const TO_READ_BYTES = 8 * 1_048_576;
const COLD_RUNS = 3_000;
const ROWS = 1_000;
const QUERIES = 150;
const SLOW_MS = 1_000;

/** A request as the threads of HTTP have it; a little of each kind, so that nothing is known when it is compiled. */
const requests = Array.from({ length: 64 }, (_, at) => {
  const headers: Readonly<Record<string, string>> = { host: "127.0.0.1", authorization: `Bearer ${at}` };
  return { headers, result: { kind: "written", requestId: `${at}` } };
});
const tracers: readonly (Tracer | undefined)[] = [undefined];
/** What a request that is under way holds is not made up of registers. */
const underWay: unknown[] = requests.map(() => undefined);
const slowRequestMs: number = SLOW_MS;
let sink = 0;

/** What the threads of HTTP do for a batch in addition, in its order. */
function handleWithout(at: number): void {
  const request = requests[at % requests.length] as (typeof requests)[number];
  const tracer = tracers[0];
  const startedAtMs = at;
  const waits = noWaits();
  const trace = beginTrace(tracer, request.headers["traceparent"], startedAtMs);
  const receivingAt = performance.now();
  waits.body = performance.now() - receivingAt;
  const readingAt = performance.now();
  waits.records = performance.now() - readingAt;
  const appendingAt = performance.now();
  if (trace) {
    trace.recordsAtMs = readingAt;
    trace.appendAtMs = appendingAt;
  }
  const traceContext = trace ? packTraceContext(trace.span.spanContext()) : undefined;
  const row = JSON.stringify({ bucket: at, trace_context: traceContext });
  const flushed = { result: request.result, flushedAt: appendingAt };
  underWay[at % requests.length] = { waits, trace, flushed };
  waits.logWriter = flushed.flushedAt - appendingAt;
  waits.flush = performance.now() - flushed.flushedAt;
  const sentAtMs = performance.now();
  const overAtMs = sentAtMs + 1;
  waits.answer = Math.max(0, Math.min(overAtMs - sentAtMs, overAtMs - startedAtMs - sumOfWaits(waits)));
  const traceId = tracer === undefined ? undefined : traceContext;
  const line = { status: at, ...(traceId === undefined ? {} : { traceId }) };
  if (slowRequestMs !== 0 && overAtMs - startedAtMs - waits.asked >= slowRequestMs) sink += 1;
  sink += line.status + row.length + waits.answer;
}

/** The same loop with what is there in any case. */
function handleBefore(at: number): void {
  const request = requests[at % requests.length] as (typeof requests)[number];
  const row = JSON.stringify({ bucket: at });
  underWay[at % requests.length] = { result: request.result };
  const line = { status: at };
  sink += line.status + row.length;
}

type Run = (at: number) => void;

function nanosecondsOf(run: Run, runs: number): number {
  const before = performance.now();
  for (let at = 0; at < runs; at += 1) run(at);
  return ((performance.now() - before) * NANOSECONDS_A_MILLISECOND) / runs;
}

/** Nanoseconds that one run takes more than the other, both compiled and in the caches. */
function warm(run: Run, other: Run): number {
  const more = Array.from(
    { length: WARM_REPEATS },
    () => nanosecondsOf(run, WARM_RUNS) - nanosecondsOf(other, WARM_RUNS),
  );
  return median(more.sort((left, right) => left - right));
}

/** The same, each run by itself after something else took the caches. */
function cold(run: Run, other: Run): number {
  const others = new Float64Array(TO_READ_BYTES / Float64Array.BYTES_PER_ELEMENT);
  const taken = [run, other].map((one) => {
    const times = Array.from({ length: COLD_RUNS }, (_, at) => {
      for (let place = 0; place < others.length; place += 8) sink += others[place] as number;
      return nanosecondsOf(() => one(at), 1);
    });
    return median(times.sort((left, right) => left - right));
  });
  return (taken[0] ?? Number.NaN) - (taken[1] ?? Number.NaN);
}

/** Nanoseconds that watching a statement takes, its promise included. */
async function ofWatching(): Promise<number> {
  const answer = { rows: [] };
  const clientOf = () => ({ query: () => Promise.resolve(answer) }) as unknown as pg.ClientBase;
  const [watched, other] = [clientOf(), clientOf()];
  watchStatements(watched, { slowMs: SLOW_MS, slow: () => undefined });
  const time = async (client: pg.ClientBase) => {
    const before = performance.now();
    for (let at = 0; at < WARM_RUNS; at += 1) await client.query("select");
    return ((performance.now() - before) * NANOSECONDS_A_MILLISECOND) / WARM_RUNS;
  };
  const more: number[] = [];
  for (let at = 0; at < WARM_REPEATS; at += 1) more.push((await time(watched)) - (await time(other)));
  return median(more.sort((left, right) => left - right));
}

/** The CPU of a session's process so far, in nanoseconds. */
function backendNanoseconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]);
}

/** A flush's rows in JSON, as src/ingest/log/log-writer-session.ts has them of batches of one that are not traced. */
function flushedRows(): string {
  const row = {
    bucket: 7,
    kind: "b",
    resource: "r",
    client_id: "client-of-the-bench",
    record_count: 1,
    batch_record_count: 1,
    batch_part_count: 1,
    lenient: false,
    trace_context: undefined,
    log_writer_id: "12",
    layout_from: 1,
    layout_bytes: 40,
    request_id: "01980000-0000-7000-8000-000000000000",
    received_at: "2026-01-01T00:00:00.000000Z",
    body_from: 41,
    body_bytes: 900,
    idempotency_key: "00000000-0000-7000-8000-000000000000",
    fingerprint: "0".repeat(64),
  };
  return JSON.stringify(Array.from({ length: ROWS }, () => row));
}

/** Nanoseconds of PostgreSQL and of Node that a row takes more by the one statement than by the other. */
async function ofStatement(client: pg.Client, more: pg.QueryConfig, less: pg.QueryConfig): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  const time = async (query: pg.QueryConfig) => {
    const [node, postgres] = [process.cpuUsage(), backendNanoseconds(pid)];
    await client.query(query);
    const { user, system } = process.cpuUsage(node);
    return ((user + system) * 1_000 + backendNanoseconds(pid) - postgres) / ROWS;
  };
  const differences: number[] = [];
  for (let at = 0; at < QUERIES; at += 1) differences.push((await time(more)) - (await time(less)));
  return median(differences.sort((left, right) => left - right));
}

/** A row that is written and read back with a column that is null, to one without it. */
async function ofColumn(client: pg.Client): Promise<number> {
  const { text } = readStatement(new URL("../src/ingest/log/sql/append-entries.sql", import.meta.url));
  const columns = /as e \(([^)]*)\)/.exec(text)?.[1] ?? "";
  const without = columns.replace(" trace_context text,", "");
  if (columns === without) throw new Error(`The column is written otherwise now: ${text}`);
  const written = (described: string, value: string): pg.QueryConfig => ({
    text: `select count(${value}) from json_to_recordset($1::json) as e (${described})`,
    values: [flushedRows()],
  });
  const read = (value: string): pg.QueryConfig => ({
    text: `select at::text as log_writer_id, ${value} 'b' as kind from generate_series(1, ${ROWS}) as at`,
  });
  return (
    (await ofStatement(client, written(columns, "decode(trace_context, 'hex')"), written(without, "*"))) +
    (await ofStatement(client, read("encode(nullif('', '')::bytea, 'hex') as trace_context,"), read("")))
  );
}

const closers = new Closers();

/** CPU microseconds of a batch, and statements that one asks of the database. */
async function ofBatch(
  benchCase: BenchCase,
): Promise<{ readonly micros: number; readonly statements: number; readonly column: number }> {
  const load = closers.kept(new LoadProcess());
  const service = closers.kept(await startService("telemetry-off", { statements: true }));
  await countStatements(service.database, service.service.dataDir);
  const asked = async () => {
    const { rows } = await service.client.query<{ calls: number }>(
      "select sum(calls)::float8 as calls from public.pg_stat_statements",
    );
    return rows[0]?.calls ?? Number.NaN;
  };
  const micros: number[] = [];
  let before = 0;
  for (let round = 0; round < WARM_UP_ROUNDS + Number(values.rounds); round += 1) {
    if (round === WARM_UP_ROUNDS) before = await asked();
    const bodies = await load.prepare({ benchCase, round });
    const figures = await measureContestant(service.contestant, load, benchCase, bodies);
    if (round >= WARM_UP_ROUNDS) micros.push(figures.nodeMicros + figures.postgresMicros);
  }
  const statements = ((await asked()) - before) / (micros.length * benchCase.recordsPerRound);
  const column = await ofColumn(service.client);
  return { micros: median(micros.sort((left, right) => left - right)), statements, column };
}

const [chosen] = chooseCases(["reservations-1-new"], false) as [BenchCase];
try {
  console.log(machineLine(machineOf()));
  const { micros, statements, column } = await ofBatch({
    ...chosen,
    recordsPerRound: chosen.recordsPerRound * Number(values.share),
  });
  const watching = await ofWatching();
  const handling = { warm: warm(handleWithout, handleBefore), cold: cold(handleWithout, handleBefore) };
  const rest = statements * watching + column;
  console.log(`a batch of one: ${micros.toFixed(1)} µs of CPU, ${statements.toFixed(2)} statements`);
  console.log(`a statement that is watched: ${watching.toFixed(0)} ns`);
  console.log(`a column that is null, written and read: ${column.toFixed(0)} ns`);
  for (const [how, nanoseconds] of Object.entries(handling)) {
    const sum = (nanoseconds + rest) / 1_000;
    const ratio = micros / (micros - sum);
    console.log(
      `${how}: ${nanoseconds.toFixed(0)} ns a batch in the threads of HTTP, ${sum.toFixed(2)} µs in all: ${ratio.toFixed(4)} (goal 1.005)`,
    );
  }
} finally {
  await closers.close();
}
if (Number.isNaN(sink)) console.error(sink);
