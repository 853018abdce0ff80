/** `npm run faults -- <what> …`: breaks the running service under load, and checks its guarantees. */

import { commandOf } from "./campaign-command.ts";
import { clockCampaign } from "./clock-campaign.ts";
import { diskCampaign } from "./disk-campaign.ts";
import { feedCommand } from "./feed.ts";
import { fsyncCampaign } from "./fsync-campaign.ts";
import { killCommand } from "./kill.ts";
import { memoryCampaign } from "./memory-campaign.ts";
import { networkCommand } from "./network.ts";
import { nodesCommand } from "./nodes.ts";
import { rotationsCommand } from "./rotations.ts";
import { upgradeCommand } from "./upgrade.ts";
import { webhooksCommand } from "./webhooks.ts";
import { workersCommand } from "./workers.ts";

const COMMANDS: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  kill: killCommand,
  nodes: nodesCommand,
  rotations: rotationsCommand,
  network: networkCommand,
  feed: feedCommand,
  disk: commandOf(diskCampaign),
  clock: commandOf(clockCampaign),
  memory: commandOf(memoryCampaign),
  fsync: commandOf(fsyncCampaign),
  upgrade: upgradeCommand,
  webhooks: webhooksCommand,
  workers: workersCommand,
};

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) {
  process.stderr.write(`npm run faults -- ${Object.keys(COMMANDS).join("|")} --help\n`);
  process.exitCode = 2;
} else {
  process.exitCode = await command(args);
}
