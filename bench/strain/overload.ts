/** `npm run campaign -- overload`: load beyond the service's capacity (bench/strain/README.md). */
import { writeFileSync } from "node:fs";
import { readOptions } from "../../scripts/read-options.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { median, percentile } from "../statistics.ts";
import { StartedLoad } from "./started-load.ts";

const USAGE = `npm run campaign -- overload [--rounds N] [--seconds S] [--capacity R] [--seed S] [--json FILE]

Offers one, two and four times of what the service accepts and applies, over 400 connections, and says what came of it.

  --rounds N     of each, in turn; by default 3
  --seconds S    of each; by default 8
  --capacity R   batches of 20 a second instead of finding out
  --seed S       of when they are sent`;

const values = readOptions(USAGE, {
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "8" },
  capacity: { type: "string" },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
});

const TIMES = [1, 2, 4] as const;
const CONNECTIONS_EACH = 100;
/** Minimum goodput beyond capacity, relative to that at capacity. */
const RATIO_MIN = 0.9;

interface Round {
  readonly times: number;
  readonly goodput: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly refusedWithoutRetryAfter: number;
  readonly acceptP50: number;
  readonly acceptP99: number;
  readonly refuseP99: number;
  readonly nodePeakBytes: number;
}

const closers = new Closers();
const rounds: Round[] = [];
try {
  const load = await StartedLoad.start(closers, Number(values.seed));
  const { node } = load.started.contestant;
  const capacity =
    values.capacity === undefined
      ? await load.findCapacity((line) => console.log(line))
      : Number(values.capacity);
  console.log(`capacity ${capacity.toFixed(0)} batches of 20 a second`);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const times of TIMES) {
      node.start();
      const { result, acceptedRecords, seconds } = await load.offer(
        capacity * times,
        Number(values.seconds),
        CONNECTIONS_EACH,
      );
      const answers: Record<string, number> = {};
      for (const { status } of result.sent) answers[status] = (answers[status] ?? 0) + 1;
      const of = (isAccepted: boolean) =>
        result.sent.filter(({ status }) => (status === 202) === isAccepted).map(({ acceptMs }) => acceptMs);
      rounds.push({
        times,
        goodput: acceptedRecords / seconds,
        answers,
        refusedWithoutRetryAfter: result.sent.filter(
          ({ status, retryAfter }) => status !== 202 && !retryAfter,
        ).length,
        acceptP50: percentile(of(true), 0.5),
        acceptP99: percentile(of(true), 0.99),
        refuseP99: percentile(of(false), 0.99),
        nodePeakBytes: node.stop()?.peakBytes ?? Number.NaN,
      });
    }
  }
} finally {
  await closers.close();
}

const middle = (times: number, pick: (round: Round) => number) =>
  median(rounds.filter((round) => round.times === times).map(pick));
console.log("offered  applied/s  ratio  p50 ms  p99 ms  refused p99  node MB  answers");
let isMet = true;
for (const times of TIMES) {
  // Compared within a round, because the machine changes between rounds.
  const ratios = rounds
    .filter((round) => round.times === times)
    .map(({ goodput }, at) => goodput / (rounds.filter((one) => one.times === 1)[at]?.goodput ?? Number.NaN));
  const answers: Record<string, number> = {};
  for (const round of rounds.filter((one) => one.times === times)) {
    for (const [status, count] of Object.entries(round.answers))
      answers[status] = (answers[status] ?? 0) + count;
    if (round.refusedWithoutRetryAfter > 0) isMet = false;
  }
  if (median(ratios) < RATIO_MIN) isMet = false;
  const said = Object.entries(answers).map(([status, count]) => `${count} x ${status}`);
  console.log(
    `${`${times} x`.padStart(7)} ${middle(times, ({ goodput }) => goodput)
      .toFixed(0)
      .padStart(10)} ${median(ratios).toFixed(2).padStart(6)} ${middle(times, ({ acceptP50 }) => acceptP50)
      .toFixed(0)
      .padStart(7)} ${middle(times, ({ acceptP99 }) => acceptP99)
      .toFixed(0)
      .padStart(7)} ${middle(times, ({ refuseP99 }) => refuseP99)
      .toFixed(0)
      .padStart(
        12,
      )} ${(middle(times, ({ nodePeakBytes }) => nodePeakBytes) / 1e6).toFixed(0).padStart(8)}  ${said.join(", ")}`,
  );
}
console.log(isMet ? "met: goodput does not fall, every refusal says when to come again" : "NOT MET");
console.log(machineLine(machineOf()));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ rounds }, null, 1)}\n`);
process.exit(isMet ? 0 : 1);
