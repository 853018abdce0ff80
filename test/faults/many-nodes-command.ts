import { readOptions } from "../../scripts/read-options.ts";
import { kindAgain, kindOf, runAndPrint } from "./campaign-command.ts";
import { answerLines, waitLines } from "./campaign-report.ts";
import { counted, figure } from "./figures.ts";
import type { ManyNodesOptions, ManyNodesReport } from "./many-nodes.ts";
import { PLANTED_FAULTS } from "./plant.ts";

/** A campaign of several nodes on one database. */
export interface ManyNodesCampaign<Fault extends string, Report extends ManyNodesReport> {
  readonly name: string;
  /** What it does, in some sentences, and when it ends well. */
  readonly about: string;
  readonly faults: readonly Fault[];
  /** What `--only` takes besides. */
  readonly onlyNote?: string;
  /** The option that says how often, such as `every`. */
  readonly interval: string;
  readonly defaults: { readonly every: string; readonly senders: string };
  run(options: ManyNodesOptions<Fault>): Promise<Report>;
  /** Lines of its own: first what the faults were, then how they were borne. */
  faultLine(report: Report): string;
  bornLines(report: Report): readonly string[];
}

type Described = Omit<ManyNodesCampaign<string, never>, "run" | "faultLine" | "bornLines">;

function helpOf({ name, about, faults, onlyNote = "", interval, defaults }: Described): string {
  const option = (text: string, what: string) => `  ${text.padEnd(interval.length + 6)} ${what}`;
  return `npm run faults -- ${name} [--nodes N] [--${interval} ${defaults.every}] [--minutes M] [--seed S] [--senders N] [--only FAULT]

${about}

${[
  option("--nodes N", "by default 2"),
  option(`--${interval} T`, `seconds from one fault to the next, such as 20s; by default ${defaults.every}`),
  option("--minutes M", "by default 2"),
  option("--seed S", "of what is sent and what is done to which node; a failure prints it"),
  option("--senders N", `concurrent senders; by default ${defaults.senders}`),
  option("--only FAULT", `${faults.join(", ")}${onlyNote}`),
  option("--plant FAULT", `plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}`),
].join("\n")}
`;
}

/** `npm run faults -- <name> …` for a campaign of several nodes: prints the figures; answers the exit code. */
export function manyNodesCommand<Fault extends string, Report extends ManyNodesReport>(
  campaign: ManyNodesCampaign<Fault, Report>,
): (args: string[]) => Promise<number> {
  const { name, interval, defaults } = campaign;
  return async (args) => {
    const values = readOptions(
      helpOf(campaign),
      {
        [interval as "every"]: { type: "string", default: defaults.every },
        nodes: { type: "string", default: "2" },
        minutes: { type: "string", default: "2" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        senders: { type: "string", default: defaults.senders },
        only: { type: "string" },
        plant: { type: "string" },
      },
      args,
    );
    const every = String(Object.entries(values).find(([option]) => option === interval)?.[1]);
    const numbers = {
      nodes: Number(values.nodes),
      every: Number(/^(\d+)s$/.exec(every)?.[1] ?? Number.NaN),
      minutes: Number(values.minutes),
      seed: Number(values.seed),
      senders: Number(values.senders),
    };
    const ofKind = kindOf(values, campaign.faults);
    const isUsable = Object.values(numbers).every((number) => Number.isFinite(number) && number >= 0);
    if (ofKind === undefined || !isUsable || numbers.nodes < 2) {
      process.stderr.write(helpOf(campaign));
      return 2;
    }
    const { nodes, minutes, seed, senders } = numbers;
    const again = `npm run faults -- ${name} --nodes ${nodes} --${interval} ${numbers.every}s --minutes ${minutes} --seed ${seed} --senders ${senders}${kindAgain(ofKind)}`;
    return await runAndPrint(again, async (enough) => {
      const report = await campaign.run({
        nodes,
        seed,
        senders,
        ...ofKind,
        enough,
        everyMs: numbers.every * 1_000,
        durationMs: minutes * 60_000,
        progress: (line) => console.log(line),
      });
      const lines = [
        figure("seed", seed),
        figure("nodes", nodes),
        campaign.faultLine(report),
        ...answerLines(report, figure("what the senders saw", counted(report.seen))),
        ...campaign.bornLines(report),
        ...waitLines(report),
      ];
      return { lines, problems: report.problems };
    });
  };
}
