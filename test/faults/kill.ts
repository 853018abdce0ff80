import { readOptions } from "../../scripts/read-options.ts";
import { printCampaign } from "./campaign-command.ts";
import { KILL_TARGETS, type KillTarget, runKills } from "./kill-campaign.ts";
import { PLANTED_FAULTS, type PlantedFault } from "./plant.ts";

const HELP = `npm run faults -- kill --target service|postgres|both|power [--times N] [--seed S] [--senders N] [--plant FAULT]

Kills the service, its PostgreSQL or both outright, N times at random moments under load, and checks what became of
every 202. With power, it kills both, and their disk (a file system of its own, mounted as root) loses what was not
synced. Exit code 0 when nothing was lost, doubled or left behind, and ready came back within 10 s each time. SIGINT
and SIGTERM end the kills early; what was done until then is checked all the same.

  --times N      kills; by default 20
  --seed S       of what is sent and when is killed; a failure prints it
  --senders N    concurrent senders; by default 8
  --plant FAULT  plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}
`;

/** `npm run faults -- kill …`: prints the figures; answers the exit code. */
export async function killCommand(args: string[]): Promise<number> {
  const values = readOptions(
    HELP,
    {
      target: { type: "string" },
      times: { type: "string", default: "20" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      senders: { type: "string", default: "8" },
      plant: { type: "string" },
    },
    args,
  );
  const [times, seed, senders] = [Number(values.times), Number(values.seed), Number(values.senders)];
  const target = values.target as KillTarget;
  const plant = values.plant as PlantedFault | undefined;
  const isKnown =
    KILL_TARGETS.includes(target) && (plant === undefined || Object.hasOwn(PLANTED_FAULTS, plant));
  const isUsable = isKnown && [times, seed, senders].every((n) => Number.isInteger(n) && n >= 0);
  if (!isUsable) {
    process.stderr.write(HELP);
    return 2;
  }
  const again = `npm run faults -- kill --target ${target} --times ${times} --seed ${seed} --senders ${senders}${plant === undefined ? "" : ` --plant ${plant}`}`;
  return await printCampaign(again, { times, seed, senders }, (campaign) =>
    runKills({ ...campaign, target, plant }),
  );
}
