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
service plans statements for each shard after its start.

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
  readonly accepted: number;
  readonly applied: number;
  readonly nodeMicros: number;
  readonly firstMicros: number;
  readonly workerMicros: number;
  readonly walBytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A service on one of the databases. */
interface Started {
  readonly url: string;
  readonly service: ServiceProcess;
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
  return { url, service, database };
}

/** One round of one case on one database. */
async function measure(
  { service, database }: Started,
  load: LoadProcess,
  benchCase: BenchCase,
  round: number,
): Promise<RoundFigures> {
  const prepared = await load.prepare({ benchCase, round });
  const node = new ProcessMeter(service.pid, false);
  const walBefore = await database.walBytes();
  node.start();
  database.start();
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
  const nodeSeconds = node.stop()?.cpuSeconds ?? Number.NaN;
  const servers = database.stop();
  const wal = (await database.walBytes()) - walBefore;
  return {
    accepted: (records * 1000) / (sent.endedAt - sent.startedAt),
    applied: (records * 1000) / (appliedAt - sent.startedAt),
    nodeMicros: (nodeSeconds * 1e6) / records,
    firstMicros: (servers.first * 1e6) / records,
    workerMicros: (servers.workers * 1e6) / records,
    walBytes: wal / records,
    p50Ms: sent.p50Ms,
    p99Ms: sent.p99Ms,
  };
}

if (values.database.length === 0) throw new Error(USAGE);
const cases = chooseCases(values.case, false).map((benchCase) => ({
  ...benchCase,
  recordsPerRound: benchCase.recordsPerRound * Number(values.times),
}));
const rounds = Number(values.rounds);
const found = new Map<string, RoundFigures[]>();
const keyOf = (benchCase: BenchCase, url: string) => `${benchCase.name} ${url}`;
const started: Started[] = [];
const workersOf = ({ database }: Started) => database.workers || "none";
try {
  const load = closers.kept(new LoadProcess());
  for (const url of values.database) started.push(await start(url));
  for (const benchCase of cases) {
    for (let round = 0; round <= rounds; round += 1) {
      for (const one of round % 2 === 0 ? started : started.toReversed()) {
        const figures = await measure(one, load, benchCase, round);
        const { accepted, applied } = figures;
        console.error(
          `round ${round || "(warm-up)"} ${benchCase.name}, workers ${workersOf(one)}: accepted ${Math.round(accepted)}, applied ${Math.round(applied)} records/s, first ${figures.firstMicros.toFixed(1)} workers ${figures.workerMicros.toFixed(1)}`,
        );
        const key = keyOf(benchCase, one.url);
        if (round > 0 || rounds === 0) found.set(key, [...(found.get(key) ?? []), figures]);
      }
    }
  }
} finally {
  await closers.close();
}
const COLUMNS: readonly [string, keyof RoundFigures][] = [
  ["accepted/s", "accepted"],
  ["applied/s", "applied"],
  ["service µs", "nodeMicros"],
  ["first server µs", "firstMicros"],
  ["workers µs", "workerMicros"],
  ["WAL bytes", "walBytes"],
  ["p50 ms", "p50Ms"],
  ["p99 ms", "p99Ms"],
];
console.log(`| case | workers | ${COLUMNS.map(([name]) => name).join(" | ")} |`);
console.log(`|---|---|${COLUMNS.map(() => "---").join("|")}|`);
for (const benchCase of cases) {
  for (const one of started) {
    const measured = found.get(keyOf(benchCase, one.url)) ?? [];
    const cells = COLUMNS.map(([heading, name]) =>
      spreadOf(measured.map((figures) => figures[name])).median.toFixed(heading.endsWith("µs") ? 1 : 0),
    );
    console.log(`| ${benchCase.name} | ${workersOf(one)} | ${cells.join(" | ")} |`);
  }
}
process.exit();
