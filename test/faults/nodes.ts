import { counted, figure, quantiles, seconds } from "./figures.ts";
import { manyNodesCommand } from "./many-nodes-command.ts";
import { NODE_FAULTS, runNodes } from "./nodes-campaign.ts";

/** `npm run faults -- nodes …` */
export const nodesCommand = manyNodesCommand({
  name: "nodes",
  about: `Runs several nodes on one PostgreSQL behind a balancer that heeds /readyz, and at every interval kills one outright, stops
it for a while (SIGSTOP), or restarts it in order, under load; then checks what became of every 202. Exit code 0 when
nothing was lost, doubled or left behind, and what a node had was taken over within 5 s each time. It uses
TEST_DATABASE_URL, or a PostgreSQL of its own.`,
  faults: NODE_FAULTS,
  onlyNote: "; with restart, the signing key is rotated meanwhile, and no request may fail",
  interval: "kill-every",
  defaults: { every: "20s", senders: "8" },
  run: runNodes,
  faultLine: ({ faults, durationMs }) => figure("faults", `${counted(faults)} in ${seconds(durationMs)}`),
  bornLines: ({ takeovers, rotations, readyMs }) => [
    ...NODE_FAULTS.flatMap((fault) => {
      const those = takeovers.filter((takeover) => takeover.fault === fault);
      if (those.length === 0) return [];
      return [
        figure(`${fault}: to all taken over`, quantiles(those.map(({ takenMs }) => takenMs))),
        figure(
          `${fault}: to the first apply`,
          quantiles(those.flatMap(({ firstApplyMs }) => firstApplyMs ?? [])),
        ),
      ];
    }),
    ...(rotations === 0 ? [] : [figure("signing keys rotated", rotations)]),
    figure("ready again", quantiles(readyMs)),
  ],
});
