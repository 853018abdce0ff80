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
import { startServiceProcess } from "./service-process.ts";
import { spreadOf } from "./statistics.ts";

const USAGE = `node bench/scale.ts --database URL … [--case NAME …] [--rounds N] [--times N] [--settings NAME=VALUE …]

What the service takes in and applies on databases that are given, each empty, or distributed and empty
(bellhop citus distribute). One round of a case is sent to each database in turn; round 0 warms up.

  --database URL    once for each database
  --case NAME       of those of the bench; by default reservations-100-new and inventories-730-unchanged90
  --rounds N        rounds that count; by default 3
  --times N         records of a round, in rounds of the bench; by default 1. The service starts anew for each round: the longer
                    it is, the less of it is that start, which on Citus prepares statements for each shard
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

/** One round of one case on one database; the service runs for this round alone. */
async function measure(
  url: string,
  benchCase: BenchCase,
  round: number,
): Promise<RoundFigures & { readonly workers: number }> {
  const closers = new Closers();
  try {
    const load = closers.kept(new LoadProcess());
    const settings = Object.fromEntries(
      values.settings.map((setting) => setting.split("=", 2) as [string, string]),
    );
    const service = closers.kept(await startServiceProcess({ settings: { ...settings, DATABASE_URL: url } }));
    const database = await ScaleDatabase.open(url);
    closers.kept({ stop: () => database.close() });
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
      workers: database.workers,
      accepted: (records * 1000) / (sent.endedAt - sent.startedAt),
      applied: (records * 1000) / (appliedAt - sent.startedAt),
      nodeMicros: (nodeSeconds * 1e6) / records,
      firstMicros: (servers.first * 1e6) / records,
      workerMicros: (servers.workers * 1e6) / records,
      walBytes: wal / records,
      p50Ms: sent.p50Ms,
      p99Ms: sent.p99Ms,
    };
  } finally {
    await closers.close();
  }
}

if (values.database.length === 0) throw new Error(USAGE);
const cases = chooseCases(values.case, false).map((benchCase) => ({
  ...benchCase,
  recordsPerRound: benchCase.recordsPerRound * Number(values.times),
}));
const rounds = Number(values.rounds);
const found = new Map<string, (RoundFigures & { readonly workers: number })[]>();
for (let round = 0; round <= rounds; round += 1) {
  for (const benchCase of cases) {
    for (const url of values.database) {
      const figures = await measure(url, benchCase, round);
      const { accepted, applied, workers } = figures;
      console.error(
        `round ${round || "(warm-up)"} ${benchCase.name}, ${workers} workers: accepted ${Math.round(accepted)}, applied ${Math.round(applied)} records/s`,
      );
      const key = `${benchCase.name} ${url}`;
      if (round > 0 || rounds === 0) found.set(key, [...(found.get(key) ?? []), figures]);
    }
  }
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
  for (const url of values.database) {
    const measured = found.get(`${benchCase.name} ${url}`) ?? [];
    const cells = COLUMNS.map(([, name]) =>
      spreadOf(measured.map((figures) => figures[name])).median.toFixed(0),
    );
    console.log(`| ${benchCase.name} | ${measured[0]?.workers || "none"} | ${cells.join(" | ")} |`);
  }
}
process.exit();
