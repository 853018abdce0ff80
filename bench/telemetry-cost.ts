/**
 * `npm run campaign -- telemetry-cost [--of on|sampled] [--minutes N] [--case NAME]`: the cost of telemetry, as the ratio of CPU
 * time per record (node and PostgreSQL) with and without it, alternating in one process, because two processes of the
 * same code differ by several percent.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { startChildServer } from "./child-server.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { LoadProcess } from "./load-process.ts";
import { median, medianInterval } from "./statistics.ts";
import { type SwitchedService, startSwitchedService } from "./switched-service.ts";

const CASES = ["reservations-1-new", "reservations-100-new", "reservations-100-unchanged90"];
/** Until code is compiled and tables have pages. */
const WARM_UP_ROUNDS = 3;
const ROUNDS_MIN = 3;
const MS_A_MINUTE = 60_000;
const GOAL = 1.03;

/** Exports measured together. One per minute is scaled to the bench's shorter rounds. */
const SENDINGS = 50;
const SECONDS_A_SENDING = 60;

const USAGE = `npm run campaign -- telemetry-cost [--of WHAT] [--minutes N] [--case NAME ...] [--share S]

CPU time a record with telemetry, to that without, as the median of ratios with the interval that holds it at 95 %:
  on        every trace sampled (by default)
  sampled   as it is sampled by default: one trace in ten

The minutes (by default 8) are shared by the cases; a round has the share S (by default 1) of a bench's records.`;

const values = readOptions(USAGE, {
  of: { type: "string", default: "on" },
  minutes: { type: "string", default: "8" },
  case: { type: "string", multiple: true, default: CASES },
  share: { type: "string", default: "1" },
});

const SAMPLING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  on: { OTEL_TRACES_SAMPLER: "parentbased_always_on" },
  sampled: {},
};

const closers = new Closers();
const load = closers.kept(new LoadProcess());

/** CPU microseconds of node alone and with PostgreSQL, per record unless stated otherwise. */
interface Cost {
  readonly node: number;
  readonly all: number;
}

interface Round {
  readonly on: Cost;
  readonly off: Cost;
}

async function measureSide(service: SwitchedService, benchCase: BenchCase, round: number, isOn: boolean) {
  const bodies = await load.prepare({ benchCase, round });
  await service.turn(isOn);
  const contestant: typeof service.contestant = {
    ...service.contestant,
    // Includes the time to send pending telemetry.
    async untilApplied(sent) {
      const appliedAt = await service.contestant.untilApplied(sent);
      await service.turn(false);
      return appliedAt;
    },
  };
  return await measureContestant(contestant, load, benchCase, bodies);
}

/** A pair of rounds in alternating order. `sending`: the cost of one export of metrics. */
async function measurePair(
  service: SwitchedService,
  benchCase: BenchCase,
  pair: number,
  sending: Cost,
): Promise<Round> {
  const costs = new Map<boolean, Cost>();
  const isOnFirst = pair % 2 === 0;
  for (const [at, isOn] of [isOnFirst, !isOnFirst].entries()) {
    const figures = await measureSide(service, benchCase, 2 * pair + at, isOn);
    const { nodeMicros, postgresMicros, appliedPerSecond } = figures;
    const sendings = isOn ? 1 / (appliedPerSecond * SECONDS_A_SENDING) : 0;
    costs.set(isOn, {
      node: nodeMicros + sendings * sending.node,
      all: nodeMicros + postgresMicros + sendings * sending.all,
    });
  }
  return { on: costs.get(true) as Cost, off: costs.get(false) as Cost };
}

/** The cost of one export of metrics in microseconds. */
async function measureSending({ contestant, sendMetrics }: SwitchedService): Promise<Cost> {
  const { node, database } = contestant;
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

/** Runs rounds until a time of `performance.now`, but a minimum number. */
async function measure(service: SwitchedService, benchCase: BenchCase, untilMs: number): Promise<Round[]> {
  const measured: Round[] = [];
  let sending: Cost = { node: 0, all: 0 };
  for (let pair = 0; pair < WARM_UP_ROUNDS + ROUNDS_MIN || performance.now() < untilMs; pair += 1) {
    if (pair === WARM_UP_ROUNDS) sending = await measureSending(service);
    const costs = await measurePair(service, benchCase, pair, sending);
    if (pair >= WARM_UP_ROUNDS) measured.push(costs);
    const name = pair < WARM_UP_ROUNDS ? "warm-up" : `round ${measured.length}`;
    const shown = `${costs.on.all.toFixed(1)} to ${costs.off.all.toFixed(1)} µs a record`;
    console.error(`${benchCase.name}, ${name}: ${shown}`);
  }
  return measured;
}

function judge(middle: number, to: number): string {
  if (middle > GOAL) return "NOT MET";
  return to > GOAL ? "met by the median, not by all of its interval" : "met";
}

function report(name: string, measured: readonly Round[]): void {
  for (const part of ["all", "node"] as const) {
    const ratios = measured.map(({ on, off }) => on[part] / off[part]);
    const middle = median(ratios);
    const { from, to } = medianInterval(ratios);
    const within = part === "node" ? "node alone" : `goal ${GOAL}: ${judge(middle, to)}`;
    console.log(
      `${name}, ${values.of}: ${middle.toFixed(3)} [${from.toFixed(3)} to ${to.toFixed(3)}] of ${ratios.length} rounds, ${within}`,
    );
  }
  const micros = (["on", "off"] as const).map((side) =>
    median(measured.map((round) => round[side].all)).toFixed(1),
  );
  console.log(`${name}, CPU µs a record: ${micros.join(" to ")}`);
}

try {
  const sampling = SAMPLING[values.of];
  if (sampling === undefined) throw new Error(`--of is one of ${Object.keys(SAMPLING).join(", ")}.`);
  const cases = chooseCases(values.case, false).map((chosen) => ({
    ...chosen,
    recordsPerRound: chosen.recordsPerRound * Number(values.share),
  }));
  const collector = closers.kept(await startChildServer(new URL("./null-receiver.ts", import.meta.url), {}));
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ready.port}` };
  const service = closers.kept(
    await startSwitchedService("telemetry", { settings: { ...endpoint, ...sampling } }),
  );
  const endMs = performance.now() + Number(values.minutes) * MS_A_MINUTE;
  for (const [at, benchCase] of cases.entries()) {
    const untilMs = performance.now() + (endMs - performance.now()) / (cases.length - at);
    report(benchCase.name, await measure(service, benchCase, untilMs));
  }
} finally {
  await closers.close();
}
