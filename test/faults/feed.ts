import { readOptions } from "../../scripts/read-options.ts";
import { runAndPrint } from "./campaign-command.ts";
import { acceptedLine, loadLine } from "./campaign-report.ts";
import { type FeedReport, runFeed } from "./feed-campaign.ts";
import { figure, seconds } from "./figures.ts";
import { isPlanted, PLANTED_FAULTS } from "./plant.ts";

const HELP = `npm run faults -- feed [--kills N] [--minutes M] [--nodes N] [--seed S] [--senders N] [--kill-node-every 20s] [--plant FAULT]

Runs several nodes on one PostgreSQL under load, with a consumer of the change feed (a process of its own) that is killed
outright again and again and goes on from the cursor that it kept; nodes are killed, too. At the end it checks that
it received every change that the tables have, none twice, in order. It uses TEST_DATABASE_URL, or a PostgreSQL of its own.

  --kills N            of the consumer; by default 1000
  --minutes M          kills no more after so many minutes
  --nodes N            by default 3
  --seed S             of what is sent and of what is killed when; a failure prints it
  --senders N          concurrent senders; by default 3
  --kill-node-every T  seconds from one kill of a node to the next, such as 20s; 0s: none
  --plant FAULT        plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}
`;

function linesOf(report: FeedReport, seed: number): string[] {
  return [
    figure("seed", seed),
    figure("kills of the consumer", `${report.kills}, after ${report.fruitful} of which it had kept more`),
    figure("kills of nodes", report.nodeKills),
    acceptedLine(report),
    figure("changes in the tables", report.changes),
    figure("reported", `${report.delivered}, ${report.changedBack} of them as they changed back`),
    figure("missed", report.missed),
    figure("repeated", report.repeated),
    figure("took", seconds(report.durationMs)),
    loadLine(report),
  ];
}

/** `npm run faults -- feed …` */
export async function feedCommand(args: string[]): Promise<number> {
  const values = readOptions(
    HELP,
    {
      kills: { type: "string", default: "1000" },
      minutes: { type: "string" },
      nodes: { type: "string", default: "3" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      senders: { type: "string", default: "3" },
      "kill-node-every": { type: "string", default: "20s" },
      plant: { type: "string" },
    },
    args,
  );
  const { plant } = values;
  const [kills, nodes, seed, senders, every] = [
    values.kills,
    values.nodes,
    values.seed,
    values.senders,
    /^(\d+)s$/.exec(values["kill-node-every"])?.[1] ?? Number.NaN,
  ].map(Number) as [number, number, number, number, number];
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  const isUsable = [minutes ?? 0, kills, nodes - 2, seed, senders, every].every((number) => number >= 0);
  if (!isUsable || (plant !== undefined && !isPlanted(plant))) {
    process.stderr.write(HELP);
    return 2;
  }
  const planted = plant === undefined ? "" : ` --plant ${plant}`;
  const again = `npm run faults -- feed --kills ${kills} --nodes ${nodes} --seed ${seed} --senders ${senders} --kill-node-every ${every}s${planted}`;
  const campaign = async (enough: AbortSignal) => {
    const report = await runFeed({
      kills,
      nodes,
      seed,
      senders,
      plant,
      nodeKillEveryMs: every * 1_000,
      enough,
      progress: (line) => console.log(line),
    });
    return { lines: linesOf(report, seed), problems: report.problems };
  };
  return await runAndPrint(again, campaign, minutes);
}
