import { readOptions } from "../../scripts/read-options.ts";
import { runAndPrint } from "./campaign-command.ts";
import { acceptedLine, loadLine } from "./campaign-report.ts";
import { figure, seconds } from "./figures.ts";
import { runWebhooks, type WebhooksReport } from "./webhooks-campaign.ts";

const HELP = `npm run faults -- webhooks [--kills N] [--minutes M] [--nodes N] [--seed S] [--senders N]

Runs nodes on one PostgreSQL under load and kills one after another outright while they deliver webhooks to a server of the
harness, which answers after up to 40 ms. At the end it checks that every 202 was reported as applied, by one message, and every
change that the tables have, none twice but by the message that reported it, in order. It uses TEST_DATABASE_URL, or a PostgreSQL of its own.

  --kills N    by default 100
  --minutes M  kills no more after so many minutes
  --nodes N    by default 2
  --seed S     of what is sent and of what is killed when; a failure prints it
  --senders N  concurrent senders; by default 2
`;

function linesOf(report: WebhooksReport, seed: number): string[] {
  return [
    figure("seed", seed),
    figure("kills", `${report.kills}, before ${report.fruitful} of which new messages had come`),
    acceptedLine(report),
    figure("requests reported", `${report.requestsDelivered}, ${report.requestsMissed} missed`),
    figure("changes in the tables", report.changes),
    figure(
      "changes reported",
      `${report.delivered}, ${report.missed} missed, ${report.repeated} by two messages, ${report.changedBack} as they changed back`,
    ),
    figure(
      "messages",
      `${report.messages}; ${report.repeats} came again, ${report.lateRepeats} of changes behind a later one`,
    ),
    figure("took", seconds(report.durationMs)),
    loadLine(report),
  ];
}

/** `npm run faults -- webhooks …` */
export async function webhooksCommand(args: string[]): Promise<number> {
  const values = readOptions(
    HELP,
    {
      kills: { type: "string", default: "100" },
      minutes: { type: "string" },
      nodes: { type: "string", default: "2" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      senders: { type: "string", default: "2" },
    },
    args,
  );
  const [kills, nodes, seed, senders] = [values.kills, values.nodes, values.seed, values.senders].map(
    Number,
  ) as [number, number, number, number];
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  const isUsable = [minutes ?? 0, kills, nodes - 1, seed, senders].every((number) => number >= 0);
  if (!isUsable) {
    process.stderr.write(HELP);
    return 2;
  }
  const again = `npm run faults -- webhooks --kills ${kills} --nodes ${nodes} --seed ${seed} --senders ${senders}`;
  const campaign = async (enough: AbortSignal) => {
    const report = await runWebhooks({
      kills,
      nodes,
      seed,
      senders,
      enough,
      progress: (line) => console.log(line),
    });
    return { lines: linesOf(report, seed), problems: report.problems };
  };
  return await runAndPrint(again, campaign, minutes);
}
