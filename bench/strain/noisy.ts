/** `npm run campaign -- noisy`: the effect of one misbehaving partner on others (bench/strain/README.md). */
import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { readOptions } from "../../scripts/read-options.ts";
import { startChildServer } from "../child-server.ts";
import { ChildTask } from "../child-task.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { startService } from "../started-service.ts";
import { median } from "../statistics.ts";
import { untilDrained } from "../until-drained.ts";
import { BACKFILLED_HOTEL } from "./noise-bodies.ts";
import { NOISE_KINDS, NOISE_NAMES, type NoiseKind, type NoiseResult } from "./noise-kinds.ts";
import { newPartner, openBackfill, type Partner, targetOf } from "./partners.ts";
import { type QuietFigures, quietFigures } from "./quiet.ts";
import type { SteadyOrder, SteadyResult } from "./steady-load.ts";

const USAGE = `npm run campaign -- noisy [--kind NAME …] [--runs N] [--seconds S] [--rate R] [--seed S] [--json FILE]

What three partners who send what they may feel of a fourth who does not behave: before, during, and beside the
same noise made at a server that only answers.

${NOISE_NAMES.map((name) => `  --kind ${name.padEnd(12)} ${NOISE_KINDS[name]}`).join("\n")}
  --runs N            of each kind, of which the medians count; by default 5
  --seconds S         each of the three measurements of a run; by default 6
  --rate R            batches of 20 a second of the three together; by default 60
  --seed S            of when they are sent
  --json FILE         every run`;

const values = readOptions(USAGE, {
  kind: { type: "string", multiple: true },
  runs: { type: "string", default: "5" },
  seconds: { type: "string", default: "6" },
  rate: { type: "string", default: "60" },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
});

const QUIET_PARTNERS = 3;
const BUSY_RATE = 100_000;
/** The noise starts this long before the measurement. */
const UNDER_WAY_MS = 1_000;
/** The goal: the greater of 1.2 times and 10 ms more. */
const RATIO_MAX = 1.2;
const MORE_MS_MAX = 10;
const HELD = ["acceptP99", "lagP50", "lagP99"] as const;
type Held = (typeof HELD)[number];

interface NoisyRun {
  readonly before: QuietFigures;
  readonly during: QuietFigures;
  /** Under the same noise, sent to a server that only responds. */
  readonly control: QuietFigures;
  readonly noise: NoiseResult;
  readonly controlNoise: NoiseResult;
}

interface KindResult {
  readonly kind: NoiseKind;
  readonly runs: readonly NoisyRun[];
}

function boundOf(ms: number): number {
  return Math.max(ms * RATIO_MAX, ms + MORE_MS_MAX);
}

function medianOf(
  runs: readonly NoisyRun[],
  when: "before" | "during" | "control",
  what: keyof QuietFigures,
): number {
  return median(runs.map((run) => run[when][what]));
}

/** Whether the medians are within the goal, directly or relative to the control, which shows the noise's own cost. */
function verdictOf(runs: readonly NoisyRun[], what: Held): "met" | "met beside the control" | "NOT MET" {
  const during = medianOf(runs, "during", what);
  if (during <= boundOf(medianOf(runs, "before", what))) return "met";
  return during <= boundOf(medianOf(runs, "control", what)) ? "met beside the control" : "NOT MET";
}

const HEADLINES: Readonly<Record<Held, string>> = {
  acceptP99: "accept p99",
  lagP50: "apply lag p50",
  lagP99: "apply lag p99",
};

function linesOf({ kind, runs }: KindResult): string[] {
  const ms = (value: number) => value.toFixed(1).padStart(8);
  const of = (when: "before" | "during" | "control", what: keyof QuietFigures) =>
    ms(medianOf(runs, when, what));
  const answers: Record<string, number> = {};
  for (const { noise } of runs)
    for (const [answer, count] of Object.entries(noise.answers))
      answers[answer] = (answers[answer] ?? 0) + count;
  const seconds = runs.reduce((sum, { noise }) => sum + noise.seconds, 0);
  const share = (pick: (run: NoisyRun) => NoiseResult) =>
    `${Math.round((100 * runs.reduce((sum, run) => sum + pick(run).cpuSeconds, 0)) / runs.reduce((sum, run) => sum + pick(run).seconds, 0))} %`;
  const refused = runs.reduce((sum, { during }) => sum + during.refused, 0);
  return [
    `${kind}: ${NOISE_KINDS[kind]}`,
    `  its answers a second: ${Object.entries(answers)
      .map(([answer, count]) => `${answer} ${(count / seconds).toFixed(1)}`)
      .join(
        ", ",
      )}; its own CPU ${share(({ noise }) => noise)}, in the control ${share(({ controlNoise }) => controlNoise)}`,
    "  ms                before   during  control   bound",
    `  accept p50      ${of("before", "acceptP50")} ${of("during", "acceptP50")} ${of("control", "acceptP50")}`,
    ...HELD.map(
      (what) =>
        `  ${HEADLINES[what].padEnd(15)} ${of("before", what)} ${of("during", what)} ${of("control", what)} ${ms(boundOf(medianOf(runs, "before", what)))}  ${verdictOf(runs, what)}`,
    ),
    ...(refused > 0 ? [`  ${refused} of the others' batches were refused: NOT MET`] : []),
  ];
}

const [runs, seconds, perSecond, seed] = [values.runs, values.seconds, values.rate, values.seed].map(
  Number,
) as [number, number, number, number];
const kinds = (values.kind ?? NOISE_NAMES) as NoiseKind[];
for (const kind of kinds)
  if (!NOISE_NAMES.includes(kind)) throw new Error(`There is no noise ${kind}.\n${USAGE}`);

const closers = new Closers();
const results: KindResult[] = [];
try {
  const { service, client } = closers.kept(await startService("bellhop"));
  const quiet: Partner[] = [];
  for (let made = 1; made <= QUIET_PARTNERS; made += 1)
    quiet.push(await newPartner(service, `quiet ${made}`));
  const noisy = await newPartner(service, "noisy");
  const busy = await newPartner(service, "busy", BUSY_RATE);
  const backfillId = await openBackfill(service.port, noisy, BACKFILLED_HOTEL);
  const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
  const noise = closers.kept(new ChildTask(new URL("./noise.ts", import.meta.url)));
  const dummy = closers.kept(await startChildServer(new URL("./dummy-server.ts", import.meta.url), {}));
  const clientIds = quiet.map(({ clientId }) => clientId);
  let run = 0;
  const measure = async (): Promise<QuietFigures> => {
    const targets = quiet.map((partner) => targetOf(service.port, partner, "reservations"));
    const order: SteadyOrder = { targets, perSecond, seconds, seed, run: run++ };
    return quietFigures(client, clientIds, await steady.call<SteadyResult>("run", order));
  };
  const beside = async (
    kind: NoiseKind,
    port: number,
    most: number,
  ): Promise<[QuietFigures, NoiseResult]> => {
    const { token } = kind === "busy" ? busy : noisy;
    const headers = [`Authorization: Bearer ${token}`];
    if (kind === "backfill") headers.push(`Backfill-Id: ${backfillId}`);
    await noise.call("start", { kind, port, headers, perSecond: most });
    await delay(UNDER_WAY_MS);
    const figures = await measure();
    const result = await noise.call<NoiseResult>("stop", undefined);
    await untilDrained(client, Date.now());
    return [figures, result];
  };
  await measure();
  for (const kind of kinds) {
    const ofKind: NoisyRun[] = [];
    for (let counted = 0; counted < runs; counted += 1) {
      const before = await measure();
      const [during, noiseResult] = await beside(kind, service.port, 0);
      const sent = Object.values(noiseResult.answers).reduce((sum, count) => sum + count, 0);
      const [control, controlNoise] = await beside(
        kind,
        dummy.ready.port,
        Math.max(0.1, sent / noiseResult.seconds),
      );
      ofKind.push({ before, during, control, noise: noiseResult, controlNoise });
    }
    results.push({ kind, runs: ofKind });
    console.log(`${linesOf({ kind, runs: ofKind }).join("\n")}\n`);
  }
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
if (values.json !== undefined)
  writeFileSync(
    values.json,
    `${JSON.stringify({ machine: machineOf(), seed, perSecond, seconds, results }, null, 1)}\n`,
  );
const isMet = results.every(
  ({ runs: those }) =>
    HELD.every((what) => verdictOf(those, what) !== "NOT MET") &&
    those.every(({ during }) => during.refused === 0),
);
process.exit(isMet ? 0 : 1);
