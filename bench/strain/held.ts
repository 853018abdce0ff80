/** `npm run campaign -- held`: the cost of a careless database session (bench/strain/README.md). */
import { readOptions } from "../../scripts/read-options.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { spreadOf } from "../statistics.ts";
import { deadRowLines, deadRowProblems, tableRows } from "./dead-rows.ts";
import { askForLong, computeBeside, configOf, holdIdleTransaction, holdSnapshot } from "./held-snapshot.ts";
import { StartedLoad } from "./started-load.ts";

const USAGE = `npm run campaign -- held [--rounds N] [--seconds S] [--rate R] [--seed S]

What is accepted and applied beside a held snapshot, an idle transaction and a long question, of what is without, in pairs.

  --rounds N    pairs of each; by default 3
  --seconds S   for which more is offered than can be applied; by default 4
  --rate R      batches of 20 a second; by default 800
  --seed S      of when they are sent`;

const values = readOptions(USAGE, {
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "4" },
  rate: { type: "string", default: "800" },
  seed: { type: "string", default: "1" },
});

/** The cost of any other program on the machine. */
const CONTROL = "computing program";
const HOLDERS = {
  "held snapshot": holdSnapshot,
  "idle transaction": holdIdleTransaction,
  "long question": askForLong,
  [CONTROL]: computeBeside,
} as const;
const RATIO_MIN = 0.9;
const CONNECTIONS_EACH = 16;

const closers = new Closers();
let isMet = true;
try {
  const load = await StartedLoad.start(closers, Number(values.seed));
  const { client } = load.started;
  const throughput = async () => {
    const { acceptedRecords, seconds } = await load.offer(
      Number(values.rate),
      Number(values.seconds),
      CONNECTIONS_EACH,
    );
    return acceptedRecords / seconds;
  };
  await throughput();
  for (const [name, hold] of Object.entries(HOLDERS)) {
    const ratios: number[] = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const pair = { without: 0, beside: 0 };
      // The order alternates.
      for (const which of round % 2 === 0
        ? (["without", "beside"] as const)
        : (["beside", "without"] as const)) {
        if (which === "without") pair.without = await throughput();
        else {
          const before = await tableRows(client);
          const held = await hold(configOf(client));
          pair.beside = await throughput();
          const problems = deadRowProblems(before, await tableRows(client));
          await held.letGo();
          for (const problem of problems) console.log(`NOT MET ${name}: ${problem}`);
          if (problems.length > 0) isMet = false;
        }
      }
      ratios.push(pair.beside / pair.without);
    }
    const { median, min, max } = spreadOf(ratios);
    const isJudged = name !== CONTROL;
    if (isJudged && median < RATIO_MIN) isMet = false;
    const verdict = median < RATIO_MIN ? "NOT MET" : "met    ";
    console.log(
      `${isJudged ? verdict : "control"} ${name}: ${median.toFixed(2)} [${min.toFixed(2)} to ${max.toFixed(2)}] of the throughput without`,
    );
  }
  console.log(deadRowLines(await tableRows(client)).join("\n"));
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
process.exit(isMet ? 0 : 1);
