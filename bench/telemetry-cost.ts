/**
 * `npm run telemetry-cost [-- --of on|sampled|off] [--minutes N] [--case NAME]`: what telemetry costs, as the ratio of CPU time a
 * record (node and PostgreSQL together) of services that take the same bodies in turn, round by round, each going first in
 * turn: one of a kind, and two of the kind that it is compared with, whose ratio is what the machine adds.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { checkOut } from "./checked-out.ts";
import { startChildServer } from "./child-server.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { LoadProcess } from "./load-process.ts";
import type { ServiceOptions } from "./service-process.ts";
import { type StartedService, startService } from "./started-service.ts";
import { median, medianInterval } from "./statistics.ts";

/** The revision that brought telemetry: it and its parent differ by nothing else that a service does. */
const BROUGHT_BY = "5eed1bc";
const CASES = ["reservations-1-new", "reservations-100-new", "reservations-100-unchanged90"];
/** Until the code is compiled and the tables have pages. */
const WARM_UP_ROUNDS = 3;
const ROUNDS_MIN = 5;
const MS_A_MINUTE = 60_000;

const USAGE = `npm run telemetry-cost [-- --of on|sampled|off] [--minutes N] [--case NAME ...] [--share S] [--revision REVISION]

CPU time a record as medians of ratios within rounds, with the interval that holds the median at 95 %:
  on       every trace sent to a collector, to without one
  sampled  one trace in twenty sent, to without a collector
  off      the revision that brought telemetry (by default ${BROUGHT_BY}) without a collector, to the one before it

The minutes (by default 8) are shared by the cases; a round has the share S (by default 1) of a bench's records.`;

const values = readOptions(USAGE, {
  of: { type: "string", default: "on" },
  minutes: { type: "string", default: "8" },
  case: { type: "string", multiple: true, default: CASES },
  share: { type: "string", default: "1" },
  revision: { type: "string", default: BROUGHT_BY },
});

interface Pair {
  readonly goal: number;
  readonly of: ServiceOptions;
  readonly to: ServiceOptions;
}

const closers = new Closers();

async function collected(sampling: Readonly<Record<string, string>>): Promise<ServiceOptions> {
  const collector = closers.kept(await startChildServer(new URL("./null-receiver.ts", import.meta.url), {}));
  const endpoint = `http://127.0.0.1:${collector.ready.port}`;
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRIC_EXPORT_INTERVAL: "10000" };
  return { settings: { ...settings, ...sampling } };
}

const PAIRS: Readonly<Record<string, () => Promise<Pair>>> = {
  on: async () => ({ goal: 1.03, of: await collected({}), to: {} }),
  sampled: async () => ({
    goal: 1.03,
    of: await collected({
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.05",
    }),
    to: {},
  }),
  off: async () => {
    const folderOf = (revision: string) => closers.kept(checkOut(revision)).folder;
    const revision = String(values.revision);
    return {
      goal: 1.005,
      of: { checkout: folderOf(revision) },
      to: { checkout: folderOf(`${revision}^`) },
    };
  },
};

/** CPU time a record in microseconds, of node alone and with PostgreSQL. */
interface Cost {
  readonly node: number;
  readonly all: number;
}

type Name = "of" | "to" | "again";
type Round = Readonly<Record<Name, Cost>>;

/** Rounds until a moment of `performance.now`, but some at least; who goes first takes turns. */
async function measure(
  services: ReadonlyMap<Name, StartedService>,
  load: LoadProcess,
  benchCase: BenchCase,
  untilMs: number,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; rounds.length < ROUNDS_MIN || performance.now() < untilMs; round += 1) {
    const prepared = await load.prepare({ benchCase, round });
    const turns = [...services];
    turns.push(...turns.splice(0, round % turns.length));
    const costs: [Name, Cost][] = [];
    for (const [name, { contestant }] of turns) {
      const { nodeMicros, postgresMicros } = await measureContestant(contestant, load, benchCase, prepared);
      costs.push([name, { node: nodeMicros, all: nodeMicros + postgresMicros }]);
    }
    const isWarmUp = round < WARM_UP_ROUNDS;
    if (!isWarmUp) rounds.push(Object.fromEntries(costs) as Record<Name, Cost>);
    const shown = costs.toSorted().map(([name, { all }]) => `${name} ${all.toFixed(1)}`);
    console.error(
      `${benchCase.name}, ${isWarmUp ? "warm-up" : `round ${rounds.length}`}, µs a record: ${shown.join(", ")}`,
    );
  }
  return rounds;
}

/** The median of a round's ratios, and between what it lies. */
function tell(what: string, ratios: readonly number[], goal: number): void {
  const ascending = ratios.toSorted((left, right) => left - right);
  const middle = median(ascending);
  const { from, to } = medianInterval(ascending);
  const within = Number.isNaN(goal) ? "" : `, goal ${goal}: ${middle <= goal ? "met" : "NOT MET"}`;
  console.log(
    `${what}: ${middle.toFixed(3)} [${from.toFixed(3)} to ${to.toFixed(3)}] of ${ratios.length} rounds${within}`,
  );
}

function tellAll(name: string, rounds: readonly Round[], goal: number): void {
  const kind = String(values.of);
  // Both that it is compared with say what a record costs them: together they say it better.
  const ratioOf = (part: keyof Cost) => (round: Round) =>
    round.of[part] / ((round.to[part] + round.again[part]) / 2);
  tell(`${name}, ${kind}`, rounds.map(ratioOf("all")), goal);
  tell(`${name}, ${kind}, node alone`, rounds.map(ratioOf("node")), Number.NaN);
  const twice = rounds.map(({ to, again }) => again.all / to.all);
  tell(`${name}, what the machine adds`, twice, Number.NaN);
  const micros = (["of", "to", "again"] as const).map((one) => {
    const costs = rounds.map((round) => round[one].all).sort((left, right) => left - right);
    return `${one} ${median(costs).toFixed(1)}`;
  });
  console.log(`${name}, CPU µs a record: ${micros.join(", ")}`);
}

try {
  const begin = PAIRS[String(values.of)];
  if (begin === undefined) throw new Error(`--of is one of ${Object.keys(PAIRS).join(", ")}.`);
  const { goal, of, to } = await begin();
  const load = closers.kept(new LoadProcess());
  const services = new Map<Name, StartedService>();
  for (const [name, options] of [["of", of] as const, ["to", to] as const, ["again", to] as const])
    services.set(name, closers.kept(await startService(name, options)));
  const cases = chooseCases(values.case as string[], false);
  const endMs = performance.now() + Number(values.minutes) * MS_A_MINUTE;
  for (const [at, chosen] of cases.entries()) {
    const benchCase = { ...chosen, recordsPerRound: chosen.recordsPerRound * Number(values.share) };
    const untilMs = performance.now() + (endMs - performance.now()) / (cases.length - at);
    tellAll(benchCase.name, await measure(services, load, benchCase, untilMs), goal);
  }
} finally {
  await closers.close();
}
