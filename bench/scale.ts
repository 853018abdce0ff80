/**
 * `node bench/scale.ts --database URL … [--case NAME …] [--rounds N] [--times N] [--settings NAME=VALUE …]`: what the real service
 * takes in and applies on databases that exist, in turn, be they one server or a coordinator of Citus with its workers.
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
service plans statements for each shard after its start. CPU and log are those of all rounds that count and of the time between
them, in which autovacuum and checkpoints work for the records of the last round.

  --database URL    once for each database
  --case NAME       of those of the bench; by default reservations-100-new and inventories-730-unchanged90
  --rounds N        rounds that count; by default 3
  --times N         records of a round, in rounds of the bench; by default 1. The longer a round is, the less of it is what is done
                    by the clock
  --settings N=V    of the service, such as APPLY_WRITERS=4`;

const values = readOptions(USAGE, {
  database: { type: "string", multiple: true, default: [] },
  case: { type: "string", multiple: true, default: ["reservations-100-new", "inventories-730-unchanged90"] },
  rounds: { type: "string", default: "3" },
  times: { type: "string", default: "1" },
  settings: { type: "string", multiple: true, default: [] },
});

interface RoundFigures {
  readonly records: number;
  readonly accepted: number;
  readonly applied: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the service and its servers have used so far: seconds of CPU and bytes of log. */
interface Used {
  readonly node: number;
  readonly first: number;
  readonly workers: number;
  readonly wal: number;
}

/** A service on one of the databases. */
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

/** One round of one case on one database. */
async function measure(
  { service, database }: Started,
  load: LoadProcess,
  benchCase: BenchCase,
  round: number,
): Promise<RoundFigures> {
  const prepared = await load.prepare({ benchCase, round });
  const sent = await load.send({
    target: {
      port: service.port,
      path: `/api/public/v1/${benchCase.resource}`,
      gzip: benchCase.gzip,
      headers: [`Authorization: Bearer ${service.token}`],
      prefix: "",
      suffix: "",
      status: 202,
      answerHolds: "",
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

/** All rounds of one case, on each database in turn, which of them comes first alternating; answers a row of the table for each. */
async function measureCase(
  started: readonly Started[],
  load: LoadProcess,
  benchCase: BenchCase,
  rounds: number,
): Promise<string[]> {
  const found = started.map((one) => ({ one, figures: [] as RoundFigures[] }));
  let before: Used[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    if (round === Math.min(1, rounds)) before = await Promise.all(started.map(usedBy));
    for (const { one, figures } of round % 2 === 0 ? found : found.toReversed()) {
      const measured = await measure(one, load, benchCase, round);
      const { accepted, applied } = measured;
      console.error(
        `round ${round || "(warm-up)"} ${benchCase.name}, workers ${workersOf(one)}: accepted ${Math.round(accepted)}, applied ${Math.round(applied)} records/s`,
      );
      if (round > 0 || rounds === 0) figures.push(measured);
    }
  }
  const after = await Promise.all(started.map(usedBy));
  return found.map(({ one, figures }, at) => {
    const records = figures.reduce((sum, round) => sum + round.records, 0);
    const each = (name: keyof Used) => ((after[at]?.[name] ?? 0) - (before[at]?.[name] ?? 0)) / records;
    const micros = (name: keyof Used) => (each(name) * 1e6).toFixed(1);
    const median = (name: keyof RoundFigures) =>
      spreadOf(figures.map((round) => round[name])).median.toFixed();
    const speeds = [median("accepted"), median("applied")];
    const costs = [micros("node"), micros("first"), micros("workers"), each("wal").toFixed()];
    const cells = [...speeds, ...costs, median("p50Ms"), median("p99Ms")];
    return `| ${benchCase.name} | ${workersOf(one)} | ${cells.join(" | ")} |`;
  });
}

if (values.database.length === 0) throw new Error(USAGE);
const cases = chooseCases(values.case, false).map((benchCase) => ({
  ...benchCase,
  recordsPerRound: benchCase.recordsPerRound * Number(values.times),
}));
const rows: string[] = [];
try {
  const load = closers.kept(new LoadProcess());
  const started: Started[] = [];
  for (const url of values.database) started.push(await start(url));
  for (const benchCase of cases)
    rows.push(...(await measureCase(started, load, benchCase, Number(values.rounds))));
} finally {
  await closers.close();
}
console.log(
  "| case | workers | accepted/s | applied/s | service µs | first server µs | workers µs | WAL bytes | p50 ms | p99 ms |",
);
console.log("|---|---|---|---|---|---|---|---|---|---|");
for (const row of rows) console.log(row);
process.exit();
