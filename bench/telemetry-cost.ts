/**
 * `npm run telemetry-cost [-- --rounds N] [--before REVISION] [--case NAME]`: what telemetry costs, as the ratio of CPU time a record (node
 * and PostgreSQL together) of services that take the same bodies in turn, round by round, each going first in turn: off to the
 * revision before there was any, on (every trace sampled) to off, and off to a second one that is off, which is what the machine adds.
 */
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { checkOut } from "./checked-out.ts";
import { startChildServer } from "./child-server.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { LoadProcess } from "./load-process.ts";
import { type StartedService, startService } from "./started-service.ts";
import { spreadOf } from "./statistics.ts";

/** The last revision without telemetry. */
const BEFORE = "e788921";
const CASES = ["reservations-1-new", "reservations-100-new", "reservations-100-unchanged90"];
const COMPARED = [
  { what: "off to before", of: "off", to: "before", goal: 1.005 },
  { what: "on to off", of: "on", to: "off", goal: 1.03 },
  { what: "off to off", of: "again", to: "off", goal: Number.NaN },
] as const;

const USAGE = `npm run telemetry-cost [-- --rounds N] [--before REVISION] [--case NAME ...] [--share S]

CPU time a record with telemetry on and off, and before there was any (by default ${BEFORE}), as ratios within rounds, each of the share S
(by default 0.3) of a bench's round.`;

const values = readOptions(USAGE, {
  rounds: { type: "string", default: "9" },
  before: { type: "string", default: BEFORE },
  case: { type: "string", multiple: true, default: CASES },
  share: { type: "string", default: "0.3" },
});

const closers = new Closers();

async function startAll(): Promise<ReadonlyMap<string, StartedService>> {
  const checkout = closers.kept(checkOut(String(values.before)));
  const collector = closers.kept(await startChildServer(new URL("./null-receiver.ts", import.meta.url), {}));
  const endpoint = `http://127.0.0.1:${collector.ready.port}`;
  const start = async (name: string, options: Parameters<typeof startService>[1]) =>
    [name, closers.kept(await startService(name, options))] as const;
  return new Map([
    await start("before", { checkout: checkout.folder }),
    await start("off", {}),
    await start("again", {}),
    await start("on", {
      settings: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRIC_EXPORT_INTERVAL: "10000" },
    }),
  ]);
}

/** Of each contestant the microseconds a record, round by round; who goes first takes turns. */
async function measure(
  services: ReadonlyMap<string, StartedService>,
  load: LoadProcess,
  benchCase: BenchCase,
): Promise<ReadonlyMap<string, number[]>> {
  const micros = new Map<string, number[]>([...services.keys()].map((name) => [name, []]));
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const prepared = await load.prepare({ benchCase, round });
    const turns = [...services];
    turns.push(...turns.splice(0, round % turns.length));
    for (const [name, { contestant }] of turns) {
      const { nodeMicros, postgresMicros } = await measureContestant(contestant, load, benchCase, prepared);
      if (round > 0) micros.get(name)?.push(nodeMicros + postgresMicros);
    }
    const last = [...micros].map(([name, of]) => `${name} ${of.at(-1)?.toFixed(1) ?? "-"}`);
    console.error(`round ${round || "(warm-up)"} ${benchCase.name}, µs a record: ${last.join(", ")}`);
  }
  return micros;
}

try {
  const load = closers.kept(new LoadProcess());
  const services = await startAll();
  for (const chosen of chooseCases(values.case as string[], false)) {
    const benchCase = { ...chosen, recordsPerRound: chosen.recordsPerRound * Number(values.share) };
    const micros = await measure(services, load, benchCase);
    for (const { what, of, to, goal } of COMPARED) {
      const base = micros.get(to) ?? [];
      const ratios = (micros.get(of) ?? []).map((value, round) => value / (base[round] ?? Number.NaN));
      const { median, min, max } = spreadOf(ratios);
      const within = Number.isNaN(goal) ? "" : `, goal ${goal}: ${median <= goal ? "met" : "NOT MET"}`;
      console.log(
        `${benchCase.name}, ${what}: ${median.toFixed(3)} [${min.toFixed(3)} to ${max.toFixed(3)}]${within}`,
      );
    }
    const shown = [...micros].map(([name, of]) => `${name} ${spreadOf(of).median.toFixed(1)}`);
    console.log(`${benchCase.name}, CPU µs a record: ${shown.join(", ")}`);
  }
} finally {
  await closers.close();
}
