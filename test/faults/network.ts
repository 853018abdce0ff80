import { figure, quantiles, seconds } from "./figures.ts";
import { manyNodesCommand } from "./many-nodes-command.ts";
import { runNetwork } from "./network-campaign.ts";
import { NETWORK_FAULTS } from "./network-faults.ts";

/** `npm run faults -- network …` */
export const networkCommand = manyNodesCommand({
  name: "network",
  about: `Runs several nodes on one PostgreSQL, each by a TCP proxy of the harness, under load, and at every interval breaks one node's
road to the database: cut, cut in the middle of an answer, swallowing everything, forgetting connections, slow. Exit code 0
when nothing was lost, doubled or left behind, the node served again within 10 s after the end of the fault (25 s where its
connections were forgotten), and a swallowed one was taken over from within 5 s.`,
  faults: NETWORK_FAULTS,
  interval: "every",
  defaults: { every: "10s", senders: "4" },
  run: runNetwork,
  faultLine: ({ passed, durationMs }) => figure("faults", `${passed.length} in ${seconds(durationMs)}`),
  bornLines: ({ passed }) =>
    NETWORK_FAULTS.flatMap((fault) => {
      const those = passed.filter((one) => one.fault === fault);
      if (those.length === 0) return [];
      const takeovers = those.flatMap(({ takeover }) => takeover ?? []);
      const taken = takeovers.map(({ takenMs, firstApplyMs }) => Math.max(takenMs, firstApplyMs ?? 0));
      const serves = `${those.length} ${fault}`;
      return [
        figure(`${serves}: serves again`, quantiles(those.map(({ servesMs }) => servesMs))),
        figure(`${serves}: all have their share`, quantiles(those.map(({ sharedMs }) => sharedMs))),
        ...(taken.length === 0 ? [] : [figure(`${fault}: taken over and applied`, quantiles(taken))]),
      ];
    }),
});
