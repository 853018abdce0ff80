import { parseArgs } from "node:util";
import { type NetworkReport, runNetwork } from "./network-campaign.ts";
import { NETWORK_FAULTS, type NetworkFault } from "./network-faults.ts";
import { quantiles } from "./nodes.ts";
import { seconds } from "./nodes-campaign.ts";
import { PLANTED_FAULTS, type PlantedFault } from "./plant.ts";

const HELP = `npm run faults -- network [--nodes N] [--every 10s] [--minutes M] [--seed S] [--senders N] [--only FAULT]

Runs several nodes on one PostgreSQL, each by a TCP proxy of the harness, under load, and at every interval breaks one node's
road to the database: cut, cut in the middle of an answer, swallowing everything, forgetting connections, slow. Exit code 0
when nothing was lost, doubled or left behind, the node served again within 10 s after the end of the fault (25 s where its
connections were forgotten), and a swallowed one was taken over from within 5 s.

  --nodes N      by default 2
  --every T      seconds from one fault to the next, such as 10s; by default 10s
  --minutes M    by default 2
  --seed S       of what is sent and what is done to which node; a failure prints it
  --senders N    concurrent senders; by default 4
  --only FAULT   ${NETWORK_FAULTS.join(", ")}
  --plant FAULT  plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}
`;

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "2" },
      every: { type: "string", default: "10s" },
      minutes: { type: "string", default: "2" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      senders: { type: "string", default: "4" },
      only: { type: "string" },
      plant: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const numbers = {
    nodes: Number(values.nodes),
    every: Number(/^(\d+)s$/.exec(values.every)?.[1] ?? Number.NaN),
    minutes: Number(values.minutes),
    seed: Number(values.seed),
    senders: Number(values.senders),
  };
  const only = values.only as NetworkFault | undefined;
  const plant = values.plant as PlantedFault | undefined;
  const isUsable =
    Object.values(numbers).every((number) => Number.isFinite(number) && number >= 0) &&
    numbers.nodes >= 2 &&
    (only === undefined || NETWORK_FAULTS.includes(only)) &&
    (plant === undefined || Object.hasOwn(PLANTED_FAULTS, plant));
  return values.help === true || !isUsable ? undefined : { ...numbers, only, plant };
}

function reportLines({ findings, ledger, passed, ...report }: NetworkReport): string[] {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(", ");
  const ofFaults = NETWORK_FAULTS.flatMap((fault) => {
    const those = passed.filter((one) => one.fault === fault);
    if (those.length === 0) return [];
    const takeovers = those.flatMap(({ takeover }) => takeover ?? []);
    const taken = takeovers.map(({ takenMs, firstApplyMs }) => Math.max(takenMs, firstApplyMs ?? 0));
    return [
      `${those.length} ${fault}: serves again`.padEnd(34) + quantiles(those.map(({ servesMs }) => servesMs)),
      `${those.length} ${fault}: all have their share`.padEnd(34) +
        quantiles(those.map(({ sharedMs }) => sharedMs)),
      ...(taken.length === 0 ? [] : [`${fault}: taken over and applied`.padEnd(34) + quantiles(taken)]),
    ];
  });
  return [
    `faults                            ${passed.length} in ${seconds(report.durationMs)}, seed ${report.options.seed}`,
    `202s                              ${ledger.acceptedRequests}, ${ledger.acceptedRecords} records`,
    `lost                              ${findings.lost}`,
    `doubled                           ${findings.doubled}`,
    `stored without an answer          ${findings.storedUnanswered}`,
    `repeated with their key           ${ledger.repeats} more 202s`,
    `what the senders saw              ${list(ledger.seen)}`,
    `outcomes                          ${list(findings.outcomes)}`,
    ...ofFaults,
    `longest wait for an answer        ${seconds(ledger.longestAnswerMs)}`,
    `longest receipt to applied        ${seconds(report.longestLagMs)}`,
    `load average of the machine       ${report.loadAverage.toFixed(1)} on ${report.cores} cores`,
  ];
}

/** `npm run faults -- network …`: prints the figures; answers the exit code. */
export async function networkCommand(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stderr.write(HELP);
    return 2;
  }
  const { nodes, every, minutes, seed, senders, only, plant } = options;
  const again = `npm run faults -- network --nodes ${nodes} --every ${every}s --minutes ${minutes} --seed ${seed} --senders ${senders}${only === undefined ? "" : ` --only ${only}`}${plant === undefined ? "" : ` --plant ${plant}`}`;
  console.log(again);
  const enough = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => enough.abort());
  let report: NetworkReport;
  try {
    report = await runNetwork({
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
