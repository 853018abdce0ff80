import { counted, figure, quantiles, seconds } from "./figures.ts";
import { manyNodesCommand } from "./many-nodes-command.ts";
import { type Answers, runWorkers, WORKER_FAULTS } from "./workers-campaign.ts";

function answersLine(what: string, { ms, refused }: Answers): string {
  const sorted = ms.toSorted((left, right) => left - right);
  const at = (share: number) => seconds(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return figure(what, `p50 ${at(0.5)}, p99 ${at(0.99)} of ${ms.length}, ${refused} refused`);
}

/** `npm run faults -- workers …` */
export const workersCommand = manyNodesCommand({
  name: "workers",
  about: `Runs several nodes on Citus (TEST_DATABASE_URL names a coordinator whose workers run on this machine), and at every interval kills
every process of a worker and starts it again some seconds later, or stops it for a while (SIGSTOP), or stops it until a further node is ready
that starts meanwhile, under load; then checks what became of every 202. Exit code 0 when nothing was lost or doubled, no batch of a hotel of
another worker was refused, and each such node was ready.`,
  faults: WORKER_FAULTS,
  interval: "every",
  defaults: { every: "30s", senders: "2" },
  run: runWorkers,
  faultLine: ({ faults, durationMs }) => figure("faults", `${counted(faults)} in ${seconds(durationMs)}`),
  bornLines: ({ calm, others, readyMs }) => [
    answersLine("one hotel's, all workers well", calm),
    answersLine("one hotel's of other workers", others),
    ...(readyMs.length === 0 ? [] : [figure("nodes that started meanwhile ready", quantiles(readyMs))]),
  ],
});
