import { readOptions } from "../../scripts/read-options.ts";
import { NoRelease } from "../../scripts/release/lay-out-release.ts";
import { NotHere, runAndPrint } from "./campaign-command.ts";
import { answerLines, waitLines } from "./campaign-report.ts";
import { counted, figure, seconds } from "./figures.ts";
import { type RollingOptions, type RollingReport, runRollingUpgrade } from "./rolling-upgrade.ts";

const HELP = `npm run faults -- upgrade [--nodes N --senders N --rest T --seed S]

Runs nodes of the release before on one PostgreSQL under load (TEST_DATABASE_URL, or one of its own), behind a balancer that heeds
/readyz; changes them to this version one after another, back to the release, and to this version again. Exit code 0 when every
answer was 202, nothing was lost or doubled, and a replay gives the same state; 77 where the clone does not have the release.

  --nodes N    by default 2
  --senders N  concurrent senders; by default 6
  --rest T     seconds between two changes, such as 3s, the default
  --seed S     of what is sent; a failure prints it
`;

async function run(options: RollingOptions): Promise<RollingReport> {
  try {
    return await runRollingUpgrade(options);
  } catch (error) {
    throw error instanceof NoRelease ? new NotHere(error.message) : error;
  }
}

/** `npm run faults -- upgrade`: prints the figures; answers the exit code. */
export async function upgradeCommand(args: string[]): Promise<number> {
  const values = readOptions(
    HELP,
    {
      nodes: { type: "string", default: "2" },
      senders: { type: "string", default: "6" },
      rest: { type: "string", default: "3s" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
    },
    args,
  );
  const [nodes, senders, seed] = [Number(values.nodes), Number(values.senders), Number(values.seed)];
  const rest = Number(/^(\d+)s$/.exec(values.rest)?.[1] ?? Number.NaN);
  const isUsable = [nodes, senders, seed, rest].every((number) => Number.isInteger(number) && number >= 0);
  if (!isUsable || nodes < 2) {
    process.stderr.write(HELP);
    return 2;
  }
  const again = `npm run faults -- upgrade --nodes ${nodes} --senders ${senders} --rest ${rest}s --seed ${seed}`;
  return await runAndPrint(again, async (enough) => {
    const report = await run({
      nodes,
      senders,
      seed,
      restMs: rest * 1_000,
      enough,
      progress: (line) => console.log(line),
    });
    const lines = [
      figure("seed", seed),
      figure("nodes", nodes),
      figure("began with version", report.before),
      figure("changes of a node", `${report.changes} in ${seconds(report.durationMs)}`),
      ...answerLines(report, figure("what the senders saw", counted(report.seen))),
      ...waitLines(report),
    ];
    return { lines, problems: report.problems };
  });
}
