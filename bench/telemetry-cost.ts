/**
 * `npm run telemetry-cost [-- --of on|sampled|spans|nothing|on-apart|sampled-apart|off] [--minutes N] [--starts N] [--case NAME]`: what
 * telemetry costs, as the ratio of CPU time a record (node and PostgreSQL together) of two that take as many bodies of a kind in turn.
 * What is compared within one process is so by itself; two processes of the same sources differ by some hundredths as long as
 * they run, so that of those many are started.
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
import { startSwitchedService } from "./switched-service.ts";

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

/** Of metrics, for what one takes: once a minute one of these stands in for those of a bench's rounds, which are shorter. */
const SENDINGS = 50;
const SECONDS_A_SENDING = 60;

const USAGE = `npm run telemetry-cost [-- --of WHAT] [--minutes N] [--starts N] [--case NAME ...] [--share S] [--revision REVISION]

CPU time a record, as medians of ratios with the interval that holds the median at 95 %. Within one process that has a collector:
  on             telemetry on, every trace sampled, to off (by default)
  sampled        the same as it is sampled by default: one trace in ten
  spans          requests whose caller is sampled, to those whose caller is not
  nothing        off to off: what such a comparison shows where nothing differs
Between two processes:
  on-apart       one that sends every trace to a collector, to one without a collector
  sampled-apart  one that samples as by default, to one without a collector
  off            the revision that brought telemetry (by default ${BROUGHT_BY}) without a collector, to the one before it

The minutes (by default 8) are shared by the starts (by default 1 within one process, else 12) and the cases; a round has the
share S (by default 1) of a bench's records.`;

const values = readOptions(USAGE, {
  of: { type: "string", default: "on" },
  minutes: { type: "string", default: "8" },
  starts: { type: "string" },
  case: { type: "string", multiple: true, default: CASES },
  share: { type: "string", default: "1" },
  revision: { type: "string", default: BROUGHT_BY },
});

/** One of two that are compared. */
interface Side {
  readonly contestant: Contestant;
  /** Makes it ready for a round, before the clock starts. */
  begin?(): Promise<void>;
}

/** What is compared, and with what. */
interface Pair {
  readonly of: Side;
  readonly to: Side;
  /** Both are one process, which must not be ordered the same twice. */
  readonly isOne: boolean;
  /** Sends metrics so many times, which else are sent once a minute; undefined where they are sent within the rounds. */
  sendMetrics?(count: number): Promise<void>;
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

async function start(options: ServiceOptions): Promise<Side> {
  const service = await startService("telemetry", options);
  started.push(service);
  return { contestant: service.contestant };
}

async function collected(sampling: Readonly<Record<string, string>> = {}): Promise<ServiceOptions> {
  const collector = closers.kept(await startChildServer(new URL("./null-receiver.ts", import.meta.url), {}));
  return {
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ready.port}`, ...sampling },
  };
}

/** The same, called by whoever says so of its own span. */
function calledBy({ contestant: { targetOf, ...rest } }: Side, flags: string): Side {
  return {
    contestant: {
      ...rest,
      targetOf(resource, gzip) {
        const target = targetOf(resource, gzip);
        return { ...target, headers: [...target.headers, `${TRACEPARENT}-${flags}`] };
      },
    },
  };
}

/** One service, on in the rounds of one side and off in those of the other. */
async function startSwitched(options: ServiceOptions, isOfOn: boolean): Promise<Pair> {
  const service = await startSwitchedService("telemetry", options);
  started.push(service);
  const { contestant, turn, sendMetrics } = service;
  const side = (isOn: boolean): Side => ({
    begin: () => turn(isOn),
    contestant: {
      ...contestant,
      // The clock runs until what waits for the collector is sent, too.
      async untilApplied(sent) {
        const appliedAt = await contestant.untilApplied(sent);
        await turn(false);
        return appliedAt;
      },
    },
  });
  const pair = { of: side(isOfOn), to: side(false), isOne: true };
  return isOfOn ? { ...pair, sendMetrics } : pair;
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

const ALL = { OTEL_TRACES_SAMPLER: "parentbased_always_on" };

interface Comparison {
  /** The ratio that is wanted at most; undefined where there is none to be had. */
  readonly goal: number | undefined;
  readonly starts: number;
  begin(): Promise<StartPair>;
}

function switching(sampling: Readonly<Record<string, string>>, isOfOn = true): Comparison {
  return {
    goal: isOfOn ? 1.03 : undefined,
    starts: 1,
    async begin() {
      const options = await collected(sampling);
      return () => startSwitched(options, isOfOn);
    },
  };
}

function apart(sampling: Readonly<Record<string, string>>): Comparison {
  return { goal: 1.03, starts: 12, begin: async () => startApart(await collected(sampling), {}) };
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  on: switching(ALL),
  sampled: switching({}),
  spans: {
    goal: 1.03,
    starts: 1,
    async begin() {
      const options = await collected();
      return async () => {
        const side = await start(options);
        return { of: calledBy(side, SAMPLED), to: calledBy(side, NOT_SAMPLED), isOne: true };
      };
    },
  },
  nothing: switching({}, false),
  "on-apart": apart(ALL),
  "sampled-apart": apart({}),
  off: {
    goal: 1.005,
    starts: 12,
    async begin() {
      const revision = String(values.revision);
      const [of, to] = [revision, `${revision}^`].map((one) => closers.kept(checkOut(one)));
      return startApart({ checkout: of?.folder as string }, { checkout: to?.folder as string });
    },
  },
};

/** CPU time in microseconds, of node alone and with PostgreSQL: a record's, where nothing else is said. */
interface Cost {
  readonly node: number;
  readonly all: number;
}

const NONE: Cost = { node: 0, all: 0 };

async function prepare(benchCase: BenchCase): Promise<Prepared> {
  const round = prepared.get(benchCase.name) ?? 0;
  prepared.set(benchCase.name, round + 1);
  return await load.prepare({ benchCase, round });
}

interface Round {
  readonly of: Cost;
  readonly to: Cost;
}

async function measureSide({ contestant, begin }: Side, benchCase: BenchCase, bodies: Prepared) {
  await begin?.();
  return await measureContestant(contestant, load, benchCase, bodies);
}

/** What sending metrics once a minute adds to a record's time, in microseconds of each: of so many records a second. */
function sendingOf(sending: Cost, recordsPerSecond: number): Cost {
  const records = recordsPerSecond * SECONDS_A_SENDING;
  return { node: sending.node / records, all: sending.all / records };
}

/** A round; who goes first takes turns. `sending`: what one sending of metrics takes, which `of` does in between. */
async function measureRound(
  { of, to, isOne }: Pair,
  benchCase: BenchCase,
  isTurned: boolean,
  sending: Cost,
): Promise<Round> {
  const costs: Cost[] = [];
  let bodies = await prepare(benchCase);
  for (const side of isTurned ? [to, of] : [of, to]) {
    if (isOne && costs.length > 0) bodies = await prepare(benchCase);
    const { nodeMicros, postgresMicros, appliedPerSecond } = await measureSide(side, benchCase, bodies);
    const added = side === of ? sendingOf(sending, appliedPerSecond) : NONE;
    costs.push({ node: nodeMicros + added.node, all: nodeMicros + postgresMicros + added.all });
  }
  const [first, second] = costs as [Cost, Cost];
  return isTurned ? { of: second, to: first } : { of: first, to: second };
}

/** What one sending of the metrics takes, in microseconds. */
async function measureSending({ of, sendMetrics }: Pair): Promise<Cost> {
  if (sendMetrics === undefined) return NONE;
  const { node, database } = of.contestant;
  node.start();
  database?.postgres.start();
  await sendMetrics(SENDINGS);
  const micros = [node.stop(), database?.postgres.stop()].map(
    (usage) => ((usage?.cpuSeconds ?? Number.NaN) * 1e6) / SENDINGS,
  );
  const [ofNode = Number.NaN, ofPostgres = Number.NaN] = micros;
  console.error(`metrics: ${ofNode.toFixed(0)} + ${ofPostgres.toFixed(0)} µs a sending, once a minute`);
  return { node: ofNode, all: ofNode + ofPostgres };
}

/** Rounds until a moment of `performance.now`, but some at least. */
async function measure(pair: Pair, benchCase: BenchCase, untilMs: number): Promise<Round[]> {
  const measured: Round[] = [];
  let sending = NONE;
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS_MIN || performance.now() < untilMs; round += 1) {
    if (round === 0) sending = await measureSending(pair);
    const costs = await measureRound(pair, benchCase, round % 2 !== 0, sending);
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

function judge(middle: number, to: number, goal: number): string {
  if (middle > goal) return "NOT MET";
  return to > goal ? "met by the median, not by all of its interval" : "met";
}

function report(name: string, starts: readonly (readonly Round[])[], goal: number | undefined): void {
  for (const part of ["all", "node"] as const) {
    const ascending = ratiosOf(starts, part);
    const middle = median(ascending);
    const { from, to } = medianInterval(ascending);
    const counted = `${ascending.length} ${starts.length === 1 ? "rounds" : "starts"}`;
    const judged = goal === undefined ? "" : `, goal ${goal}: ${judge(middle, to, goal)}`;
    const within = part === "node" ? ", node alone" : judged;
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
  for (const [{ name }, of] of measured) report(name, of, comparison.goal);
} finally {
  await closers.close();
}
