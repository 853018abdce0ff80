import { parseArgs } from "node:util";
import { NODE_FAULTS, type NodeFault, type NodesReport, runNodes, seconds } from "./nodes-campaign.ts";
import { PLANTED_FAULTS, type PlantedFault } from "./plant.ts";

const HELP = `npm run faults -- nodes [--nodes N] [--kill-every 20s] [--minutes M] [--seed S] [--senders N] [--only FAULT]

Runs several nodes on one PostgreSQL behind a balancer that heeds /readyz, and at every interval kills one outright, stops
it for a while (SIGSTOP), or restarts it in order, under load; then checks what became of every 202. Exit code 0 when
nothing was lost, doubled or left behind, and what a node had was taken over within 5 s each time. It uses
TEST_DATABASE_URL, or a PostgreSQL of its own.

  --nodes N        by default 2
  --kill-every T   seconds from one fault to the next, such as 20s; by default 20s
  --minutes M      by default 2
  --seed S         of what is sent and what is done to which node; a failure prints it
  --senders N      concurrent senders; by default 8
  --only FAULT     ${NODE_FAULTS.join(", ")}; with restart, the signing key is rotated meanwhile, and no request may fail
  --plant FAULT    plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}
`;

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "2" },
      "kill-every": { type: "string", default: "20s" },
      minutes: { type: "string", default: "2" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      senders: { type: "string", default: "8" },
      only: { type: "string" },
      plant: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const [nodes, minutes, seed, senders] = [values.nodes, values.minutes, values.seed, values.senders].map(
    Number,
  );
  const every = Number(/^(\d+)s$/.exec(values["kill-every"])?.[1] ?? Number.NaN);
  const only = values.only as NodeFault | undefined;
  const plant = values.plant as PlantedFault | undefined;
  const numbers = { nodes, minutes, seed, senders, every } as Record<string, number>;
  const isUsable =
    Object.values(numbers).every((number) => Number.isFinite(number) && number >= 0) &&
    (nodes ?? 0) >= 2 &&
    (only === undefined || NODE_FAULTS.includes(only)) &&
    (plant === undefined || Object.hasOwn(PLANTED_FAULTS, plant));
  if (values.help === true || !isUsable) return undefined;
  return { ...(numbers as Record<"nodes" | "minutes" | "seed" | "senders" | "every", number>), only, plant };
}

export function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) => seconds(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return sorted.length === 0 ? "-" : `median ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)}`;
}

function reportLines({ findings, ledger, takeovers, ...report }: NodesReport): string[] {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(", ");
  const ofFaults = NODE_FAULTS.flatMap((fault) => {
    const those = takeovers.filter((takeover) => takeover.fault === fault);
    if (those.length === 0) return [];
    return [
      `${fault}: to all taken over`.padEnd(34) + quantiles(those.map(({ takenMs }) => takenMs)),
      `${fault}: to the first apply`.padEnd(34) +
        quantiles(those.flatMap(({ firstApplyMs }) => firstApplyMs ?? [])),
    ];
  });
  return [
    `seed                              ${report.options.seed}`,
    `nodes                             ${report.options.nodes}`,
    `faults                            ${list(report.faults)} in ${seconds(report.durationMs)}`,
    `202s                              ${ledger.acceptedRequests}, ${ledger.acceptedRecords} records`,
    `lost                              ${findings.lost}`,
    `doubled                           ${findings.doubled}`,
    `stored without an answer          ${findings.storedUnanswered}`,
    `repeated with their key           ${ledger.repeats} more 202s`,
    `what the senders saw              ${list(ledger.seen)}`,
    `outcomes                          ${list(findings.outcomes)}`,
    ...ofFaults,
    ...(report.rotations === 0 ? [] : [`signing keys rotated              ${report.rotations}`]),
    `ready again                       ${quantiles(report.readyMs)}`,
    `longest wait for an answer        ${seconds(ledger.longestAnswerMs)}`,
    `longest receipt to applied        ${seconds(report.longestLagMs)}`,
    `load average of the machine       ${report.loadAverage.toFixed(1)} on ${report.cores} cores`,
  ];
}

/** `npm run faults -- nodes …`: prints the figures; answers the exit code. */
export async function nodesCommand(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stderr.write(HELP);
    return 2;
  }
  const { nodes, every, minutes, seed, senders, only, plant } = options;
  const again = `npm run faults -- nodes --nodes ${nodes} --kill-every ${every}s --minutes ${minutes} --seed ${seed} --senders ${senders}${only === undefined ? "" : ` --only ${only}`}${plant === undefined ? "" : ` --plant ${plant}`}`;
  console.log(again);
  const enough = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => enough.abort());
  let report: NodesReport;
  try {
    report = await runNodes({
      ...{ nodes, seed, senders, only, plant, enough: enough.signal },
      everyMs: every * 1_000,
      durationMs: minutes * 60_000,
      told: (line) => console.log(line),
    });
  } catch (error) {
    console.log(`BROKEN OFF; the same again: ${again}`, error);
    return 1;
  }
  for (const line of reportLines(report)) console.log(line);
  if (report.problems.length === 0) {
    console.log("every 202 is there, once");
    return 0;
  }
  console.log(`${report.problems.length} PROBLEMS; the same again: ${again}`);
  for (const problem of report.problems.slice(0, 60)) console.log(problem);
  return 1;
}
