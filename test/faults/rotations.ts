import { counted, figure, seconds } from "./figures.ts";
import { manyNodesCommand } from "./many-nodes-command.ts";
import { ROTATIONS, runRotations } from "./rotations-campaign.ts";

/** `npm run faults -- rotations …` */
export const rotationsCommand = manyNodesCommand({
  name: "rotations",
  about: `Runs several nodes on one PostgreSQL behind a balancer that heeds /readyz, and at every interval replaces one of what an
installation keeps secret, under load: the key that signs tokens, a client's secret (which takes and uses tokens all the
while), the pepper, the key that batches are encrypted with, and KEY_ENCRYPTION_KEY, node by node. Exit code 0 when no
request failed and every 202 is there, once. It uses TEST_DATABASE_URL, or a PostgreSQL of its own.`,
  faults: ROTATIONS,
  interval: "every",
  defaults: { every: "5s", senders: "4" },
  run: runRotations,
  faultLine: ({ rotations, durationMs }) =>
    figure("replaced", `${counted(rotations)} in ${seconds(durationMs)}`),
  bornLines: ({ tokens }) => [figure("tokens taken and used", tokens)],
});
