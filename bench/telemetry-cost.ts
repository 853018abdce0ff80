/**
 * `npm run telemetry-cost [-- --of spans|on|sampled|off] [--minutes N] [--starts N] [--case NAME]`: what telemetry costs, as the
 * ratio of CPU time a record (node and PostgreSQL together) of two that take as many bodies of a kind in turn. What is
 * compared within one process is so by itself; two processes of the same sources differ by some hundredths as long as they run,
 * so that of those many are started.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { checkOut } from "./checked-out.ts";
import { startChildServer } from "./child-server.ts";
import { Closers } from "./closers.ts";
import { type Contestant, measureContestant } from "./contestant.ts";
import type { Prepared } from "./load.ts";
import { LoadProcess } from "./load-process.ts";
import type { ServiceOptions } from "./service-process.ts";
import { type StartedService, startService } from "./started-service.ts";
import { median, medianInterval } from "./statistics.ts";

/** The revision that brought telemetry: it and its parent differ by nothing else that a service does. */
const BROUGHT_BY = "5eed1bc";
const CASES = ["reservations-1-new", "reservations-100-new", "reservations-100-unchanged90"];
/** Until the code is compiled and the tables have pages. */
const WARM_UP_ROUNDS = 3;
const ROUNDS_MIN = 3;
const MS_A_MINUTE = 60_000;
const TRACEPARENT = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
const SAMPLED = "01";
const NOT_SAMPLED = "00";

const USAGE = `npm run telemetry-cost [-- --of spans|on|sampled|off] [--minutes N] [--starts N] [--case NAME ...] [--share S] [--revision REVISION]

CPU time a record, as medians of ratios with the interval that holds the median at 95 %:
  spans    in one process with a collector: requests whose caller is sampled, to those whose caller is not (by default)
  on       a process that sends every trace to a collector, to one without a collector
  sampled  one that sends one trace in twenty, to one without a collector
  off      the revision that brought telemetry (by default ${BROUGHT_BY}) without a collector, to the one before it

The minutes (by default 8) are shared by the starts (by default 1 for spans, else 12) and the cases; a round has the share S (by default
1) of a bench's records.`;

const values = readOptions(USAGE, {
  of: { type: "string", default: "spans" },
  minutes: { type: "string", default: "8" },
  starts: { type: "string" },
  case: { type: "string", multiple: true, default: CASES },
  share: { type: "string", default: "1" },
  revision: { type: "string", default: BROUGHT_BY },
});

/** What is compared, and with what. */
interface Pair {
  readonly of: Contestant;
  readonly to: Contestant;
  /** Both are one process, which must not be told the same twice. */
  readonly isOne: boolean;
}

// Each service that is started has a log, which waits for the end of the process.
process.setMaxListeners(0);
const closers = new Closers();
const load = closers.kept(new LoadProcess());
const started: StartedService[] = [];
closers.add(stopStarted);
/** Rounds of each case, which come in order from 0. */
const prepared = new Map<string, number>();

async function stopStarted(): Promise<void> {
  for (const service of started.splice(0)) await service.stop();
}

async function start(options: ServiceOptions): Promise<Contestant> {
  const service = await startService("telemetry", options);
  started.push(service);
  return service.contestant;
}

async function collected(sampling: Readonly<Record<string, string>> = {}): Promise<ServiceOptions> {
  const collector = closers.kept(await startChildServer(new URL("./null-receiver.ts", import.meta.url), {}));
  return {
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ready.port}`, ...sampling },
  };
}

/** The same, called by whoever says so of its own span. */
function calledBy({ targetOf, ...rest }: Contestant, flags: string): Contestant {
  return {
    ...rest,
    targetOf(resource, gzip) {
      const target = targetOf(resource, gzip);
      return { ...target, headers: [...target.headers, `${TRACEPARENT}-${flags}`] };
    },
  };
}

/** Starts both of a pair, which of them first in turn. */
type StartPair = (count: number) => Promise<Pair>;

function startApart(options: ServiceOptions, others: ServiceOptions): StartPair {
  return async (count) => {
    if (count % 2 === 0) return { of: await start(options), to: await start(others), isOne: false };
    const to = await start(others);
    return { of: await start(options), to, isOne: false };
  };
}

const COMPARISONS: Readonly<
  Record<string, { readonly goal: number; readonly starts: number; begin(): Promise<StartPair> }>
> = {
  spans: {
    ...{ goal: 1.03, starts: 1 },
    async begin() {
      const options = await collected();
      return async () => {
        const contestant = await start(options);
        return { of: calledBy(contestant, SAMPLED), to: calledBy(contestant, NOT_SAMPLED), isOne: true };
      };
    },
  },
  on: { ...{ goal: 1.03, starts: 12 }, begin: async () => startApart(await collected(), {}) },
  sampled: {
    ...{ goal: 1.03, starts: 12 },
    async begin() {
      const sampling = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.05" };
      return startApart(await collected(sampling), {});
    },
  },
  off: {
    ...{ goal: 1.005, starts: 12 },
    async begin() {
      const revision = String(values.revision);
      const [of, to] = [revision, `${revision}^`].map((one) => closers.kept(checkOut(one)));
      return startApart({ checkout: of?.folder as string }, { checkout: to?.folder as string });
    },
  },
};

/** CPU time a record in microseconds, of node alone and with PostgreSQL. */
interface Cost {
  readonly node: number;
  readonly all: number;
}

async function prepare(benchCase: BenchCase): Promise<Prepared> {
  const round = prepared.get(benchCase.name) ?? 0;
  prepared.set(benchCase.name, round + 1);
  return await load.prepare({ benchCase, round });
}

interface Round {
  readonly of: Cost;
  readonly to: Cost;
}

/** A round; who goes first takes turns. */
async function measureRound(
  { of, to, isOne }: Pair,
  benchCase: BenchCase,
  isTurned: boolean,
): Promise<Round> {
  const costs: Cost[] = [];
  let bodies = await prepare(benchCase);
  for (const contestant of isTurned ? [to, of] : [of, to]) {
    if (isOne && costs.length > 0) bodies = await prepare(benchCase);
    const { nodeMicros, postgresMicros } = await measureContestant(contestant, load, benchCase, bodies);
    costs.push({ node: nodeMicros, all: nodeMicros + postgresMicros });
  }
  const [first, second] = costs as [Cost, Cost];
  return isTurned ? { of: second, to: first } : { of: first, to: second };
}

/** Rounds until a moment of `performance.now`, but some at least. */
async function measure(pair: Pair, benchCase: BenchCase, untilMs: number): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS_MIN || performance.now() < untilMs; round += 1) {
    const costs = await measureRound(pair, benchCase, round % 2 !== 0);
    if (round >= 0) measured.push(costs);
    const shown = `${costs.of.all.toFixed(1)} to ${costs.to.all.toFixed(1)} µs a record`;
    console.error(`${benchCase.name}, ${round < 0 ? "warm-up" : `round ${round + 1}`}: ${shown}`);
  }
  return measured;
}

/** Of one start its rounds' ratios; of several the median of each. */
function ratiosOf(starts: readonly (readonly Round[])[], part: keyof Cost): readonly number[] {
  const ratios = starts.map((measured) =>
    measured.map(({ of, to }) => of[part] / to[part]).sort((left, right) => left - right),
  );
  return ratios.length === 1 ? (ratios[0] ?? []) : ratios.map(median).sort((left, right) => left - right);
}

function tell(name: string, starts: readonly (readonly Round[])[], goal: number): void {
  for (const part of ["all", "node"] as const) {
    const ascending = ratiosOf(starts, part);
    const middle = median(ascending);
    const { from, to } = medianInterval(ascending);
    const counted = `${ascending.length} ${starts.length === 1 ? "rounds" : "starts"}`;
    const within = part === "node" ? ", node alone" : `, goal ${goal}: ${middle <= goal ? "met" : "NOT MET"}`;
    console.log(
      `${name}, ${values.of}: ${middle.toFixed(3)} [${from.toFixed(3)} to ${to.toFixed(3)}] of ${counted}${within}`,
    );
  }
  const micros = (["of", "to"] as const).map((one) => {
    const costs = starts.flat().map((round) => round[one].all);
    return median(costs.sort((left, right) => left - right)).toFixed(1);
  });
  console.log(`${name}, CPU µs a record: ${micros.join(" to ")}`);
}

try {
  const comparison = COMPARISONS[String(values.of)];
  if (comparison === undefined) throw new Error(`--of is one of ${Object.keys(COMPARISONS).join(", ")}.`);
  const cases = chooseCases(values.case as string[], false).map((chosen) => ({
    ...chosen,
    recordsPerRound: chosen.recordsPerRound * Number(values.share),
  }));
  const measured = new Map<BenchCase, Round[][]>(cases.map((benchCase) => [benchCase, []]));
  const startPair = await comparison.begin();
  const endMs = performance.now() + Number(values.minutes) * MS_A_MINUTE;
  const starts = Number(values.starts ?? comparison.starts);
  for (let count = 0; count < starts; count += 1) {
    const startEndMs = performance.now() + (endMs - performance.now()) / (starts - count);
    const pair = await startPair(count);
    for (const [at, benchCase] of cases.entries()) {
      const untilMs = performance.now() + (startEndMs - performance.now()) / (cases.length - at);
      measured.get(benchCase)?.push(await measure(pair, benchCase, untilMs));
    }
    await stopStarted();
  }
  for (const [{ name }, of] of measured) tell(name, of, comparison.goal);
} finally {
  await closers.close();
}
