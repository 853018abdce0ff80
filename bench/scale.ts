/**
 * `node bench/scale.ts --database URL … [--case NAME …] [--rounds N] [--times N] [--settings NAME=VALUE …]`: measures
 * the service's accepting and applying on existing databases in turn, each a server or a Citus coordinator with
 * workers.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { Closers } from "./closers.ts";
import { LoadProcess } from "./load-process.ts";
import { ProcessMeter } from "./process-meter.ts";
import { ScaleDatabase } from "./scale-database.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { spreadOf } from "./statistics.ts";

const USAGE = `node bench/scale.ts --database URL … [--case NAME …] [--rounds N] [--times N] [--settings NAME=VALUE …]

What the service takes in and applies on databases that are given, each empty, or distributed and empty
(bellhop citus distribute). A service runs on each. One round of a case is sent to each in turn; round 0 warms up: on Citus a
service plans statements for each shard after its start. A round should take a minute at least, or autovacuum, which looks once
a minute, works for one database while another is measured.

  --database URL    once for each database
  --case NAME       of those of the bench; by default reservations-100-new and inventories-730-unchanged90
  --rounds N        rounds that count; by default 3
  --times N         rounds of the bench that a round consists of, one after the other; by default 10
  --settings N=V    of the service, such as APPLY_WRITERS=4`;

const values = readOptions(USAGE, {
  database: { type: "string", multiple: true, default: [] },
  case: { type: "string", multiple: true, default: ["reservations-100-new", "inventories-730-unchanged90"] },
  rounds: { type: "string", default: "3" },
  times: { type: "string", default: "10" },
  settings: { type: "string", multiple: true, default: [] },
});

interface Sent {
  readonly records: number;
  readonly accepted: number;
  readonly applied: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** CPU seconds and bytes of WAL of the service and its servers, in total or per record. */
interface Used {
  readonly node: number;
  readonly first: number;
  readonly workers: number;
  readonly wal: number;
}

interface RoundFigures {
  readonly sent: readonly Sent[];
  readonly each: Used;
}

interface Started {
  readonly service: ServiceProcess;
  readonly node: ProcessMeter;
  readonly database: ScaleDatabase;
}

const closers = new Closers();

async function start(url: string): Promise<Started> {
  const settings = Object.fromEntries(
    values.settings.map((setting) => setting.split("=", 2) as [string, string]),
  );
  const service = closers.kept(await startServiceProcess({ settings: { ...settings, DATABASE_URL: url } }));
  const database = await ScaleDatabase.open(url);
  closers.kept({ stop: () => database.close() });
  return { service, node: new ProcessMeter(service.pid, false), database };
}

/** Sends a round, and waits until it is applied. */
async function send(
  { service, database }: Started,
  load: LoadProcess,
  benchCase: BenchCase,
  round: number,
): Promise<Sent> {
  const prepared = await load.prepare({ benchCase, round });
  const sent = await load.send({
    target: {
      port: service.port,
      path: `/api/public/v1/${benchCase.resource}`,
      gzip: benchCase.gzip,
      headers: [`Authorization: Bearer ${service.token}`],
    },
    connections: benchCase.connections,
    batches: prepared.batches,
    first: 0,
    atLeastMs: 0,
    perSecond: 0,
  });
  const records = sent.batches * benchCase.recordsPerBatch;
  const appliedAt = await database.untilApplied(records, sent.startedAt);
  return {
    records,
    accepted: (records * 1000) / (sent.endedAt - sent.startedAt),
    applied: (records * 1000) / (appliedAt - sent.startedAt),
    p50Ms: sent.p50Ms,
    p99Ms: sent.p99Ms,
  };
}

async function usedBy({ node, database }: Started): Promise<Used> {
  const wal = await database.walBytes();
  const { first, workers } = database.cpuSeconds();
  return { node: ProcessMeter.supported ? node.cpuSeconds() : Number.NaN, first, workers, wal };
}

const workersOf = ({ database }: Started) => database.workers || "none";

/** Runs several rounds and returns the cost per record. */
async function measure(
  one: Started,
  load: LoadProcess,
  benchCase: BenchCase,
  round: number,
  times: number,
): Promise<RoundFigures> {
  const before = await usedBy(one);
  const sent: Sent[] = [];
  for (let time = 0; time < times; time += 1)
    sent.push(await send(one, load, benchCase, round * times + time));
  const after = await usedBy(one);
  const records = sent.reduce((sum, each) => sum + each.records, 0);
  const each = (name: keyof Used) => (after[name] - before[name]) / records;
  return {
    sent,
    each: { node: each("node"), first: each("first"), workers: each("workers"), wal: each("wal") },
  };
}

const microsOf = (seconds: number) => (seconds * 1e6).toFixed(1);

/** Measures one case on each database, alternating the order. Returns one table row per database. */
async function measureCase(
  started: readonly Started[],
  load: LoadProcess,
  benchCase: BenchCase,
): Promise<string[]> {
  const rounds = Number(values.rounds);
  const found = started.map((one) => ({ one, figures: [] as RoundFigures[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { one, figures } of round % 2 === 0 ? found : found.toReversed()) {
      const measured = await measure(one, load, benchCase, round, Number(values.times));
      const { node, first, workers } = measured.each;
      console.error(
        `round ${round || "(warm-up)"} ${benchCase.name}, workers ${workersOf(one)}: service ${microsOf(node)}, first server ${microsOf(first)}, workers ${microsOf(workers)} µs a record`,
      );
      if (round > 0 || rounds === 0) figures.push(measured);
    }
  }
  return found.map(({ one, figures }) => {
    const speed = (name: keyof Sent) =>
      spreadOf(figures.flatMap(({ sent }) => sent.map((each) => each[name]))).median.toFixed();
    const cost = (name: keyof Used) => spreadOf(figures.map(({ each }) => each[name])).median;
    const cells = [
      ...[speed("accepted"), speed("applied")],
      ...[microsOf(cost("node")), microsOf(cost("first")), microsOf(cost("workers")), cost("wal").toFixed()],
      ...[speed("p50Ms"), speed("p99Ms")],
    ];
    return `| ${benchCase.name} | ${workersOf(one)} | ${cells.join(" | ")} |`;
  });
}

if (values.database.length === 0) throw new Error(USAGE);
const rows: string[] = [];
try {
  const load = closers.kept(new LoadProcess());
  const started: Started[] = [];
  for (const url of values.database) started.push(await start(url));
  for (const benchCase of chooseCases(values.case, false))
    rows.push(...(await measureCase(started, load, benchCase)));
} finally {
  await closers.close();
}
console.log(
  "| case | workers | accepted/s | applied/s | service µs | first server µs | workers µs | WAL bytes | p50 ms | p99 ms |",
);
console.log("|---|---|---|---|---|---|---|---|---|---|");
for (const row of rows) console.log(row);
process.exit();
