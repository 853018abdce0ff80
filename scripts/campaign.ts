/** `npm run campaign -- NAME`: a long check of what is shipped, too slow or too demanding for `npm test`. Exits with 1 on failure, 77 if unsupported here. */

import { containersCampaign } from "../test/deployment/containers/campaign.ts";
import { overlaysCampaign } from "../test/deployment/overlays-campaign.ts";
import { NotHere } from "../test/faults/campaign-command.ts";
import { alertsCampaign } from "../test/operations/alerts-campaign.ts";

const CAMPAIGNS: Readonly<Record<string, (args: string[]) => Promise<boolean>>> = {
  alerts: alertsCampaign,
  containers: containersCampaign,
  overlays: overlaysCampaign,
};

const [name = "", ...args] = process.argv.slice(2);
const campaign = Object.hasOwn(CAMPAIGNS, name) ? CAMPAIGNS[name] : undefined;
if (campaign === undefined) {
  process.stderr.write(`npm run campaign -- ${Object.keys(CAMPAIGNS).join("|")} --help\n`);
  process.exitCode = 2;
} else {
  try {
    process.exitCode = (await campaign(args)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    console.log(`SKIPPED, not run on this machine: ${error.message}`);
    process.exitCode = 77;
  }
}
