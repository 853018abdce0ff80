import { readOptions } from "../../scripts/read-options.ts";
import type { CampaignOptions } from "./campaign.ts";
import { type CampaignReport, reportLines } from "./campaign-report.ts";
import { seconds } from "./figures.ts";
import { isPlanted, PLANTED_FAULTS, type PlantedFault } from "./plant.ts";

/** From a fault's end to ready, and from SIGTERM to the end: what the service promises. */
const READY_MS_PROMISED = 10_000;
/** As `skip` of test frameworks: neither passed nor failed. */
const EXIT_SKIPPED = 77;

/** Thrown by a campaign that this machine does not allow; the message says why. */
export class NotHere extends Error {}

/** What a run that is printed answers: lines for people, and what must not be. */
export interface Printed {
  readonly lines: readonly string[];
  readonly problems: readonly string[];
}

/**
 * Runs a campaign and prints what it came to; answers the exit code. `again` is the line that runs the same again. The
 * campaign learns from the signal when somebody has had enough, or so many minutes are over.
 */
export async function runAndPrint(
  again: string,
  run: (enough: AbortSignal) => Promise<Printed>,
  minutes?: number,
): Promise<number> {
  console.log(again);
  const enough = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => enough.abort());
  if (minutes !== undefined) setTimeout(() => enough.abort(), minutes * 60_000).unref();
  let printed: Printed;
  try {
    printed = await run(enough.signal);
  } catch (error) {
    if (error instanceof NotHere) {
      console.log(`SKIPPED, not tried on this machine: ${error.message}`);
      return EXIT_SKIPPED;
    }
    console.log(`BROKEN OFF; the same again: ${again}`, error);
    return 1;
  }
  for (const line of printed.lines) console.log(line);
  const { problems } = printed;
  if (problems.length === 0) {
    console.log("every 202 is there, once");
    return 0;
  }
  console.log(`${problems.length} PROBLEMS; the same again: ${again}`);
  for (const problem of problems.slice(0, 60)) console.log(problem);
  return 1;
}

/** Runs a campaign on one service and prints its figures; answers the exit code. */
export async function printCampaign(
  again: string,
  options: Pick<CampaignOptions, "times" | "seed" | "senders">,
  run: (options: CampaignOptions) => Promise<CampaignReport>,
  minutes?: number,
): Promise<number> {
  const campaign = async (enough: AbortSignal) => {
    const report = await run({
      ...options,
      enough,
      promisedMs: READY_MS_PROMISED,
      onFault(fault, what, readyMs) {
        if (options.times <= 50 || fault % 10 === 0 || readyMs > 3_000)
          console.log(`fault ${fault} (${what}): ready after ${seconds(readyMs)}`);
      },
    });
    return { lines: reportLines(report), problems: report.problems };
  };
  return await runAndPrint(again, campaign, minutes);
}

const COMMON = `  --times N      faults; by default 20
  --minutes M    begins no fault after so many minutes
  --seed S       of what is sent and when what is done; a failure prints it
  --senders N    concurrent senders; by default 8
`;

/** What of these campaigns may be asked for. */
export interface OfKind<Kind extends string> {
  /** Only faults of this kind. */
  readonly only?: Kind | undefined;
  readonly plant?: PlantedFault | undefined;
}

/** Reads which faults are asked for; undefined when there is no such kind or no such plant. */
export function kindOf<Kind extends string>(
  { only, plant }: { readonly only?: string | undefined; readonly plant?: string | undefined },
  kinds: readonly Kind[],
): OfKind<Kind> | undefined {
  const kind = kinds.find((one) => one === only);
  if (only !== kind || (plant !== undefined && !isPlanted(plant))) return undefined;
  return { only: kind, plant };
}

/** The same as it was asked for. */
export function kindAgain({ only, plant }: OfKind<string>): string {
  return `${only === undefined ? "" : ` --only ${only}`}${plant === undefined ? "" : ` --plant ${plant}`}`;
}

/** A campaign whose faults are of a few kinds. */
export interface FaultCampaign<Kind extends string> {
  readonly name: string;
  /** What it does, in some sentences. */
  readonly about: string;
  /** The kinds, each with what it is. */
  readonly kinds: Readonly<Record<Kind, string>>;
  run(options: CampaignOptions & OfKind<Kind>): Promise<CampaignReport>;
}

/** `npm run faults -- <name> [--only KIND] …` for a campaign; answers the exit code, 77 where the machine does not allow it. */
export function commandOf<Kind extends string>(
  campaign: FaultCampaign<Kind>,
): (args: string[]) => Promise<number> {
  const { name, about, kinds } = campaign;
  const help = `npm run faults -- ${name} [--times N] [--minutes M] [--seed S] [--senders N] [--only KIND] [--plant FAULT]

${about}
Exit code 0 when nothing was lost, doubled or left behind and ready came back within 10 s each time, ${EXIT_SKIPPED} where this
machine does not allow it.

${COMMON}  --only KIND    ${Object.entries(kinds)
    .map(([kind, what]) => `${kind}: ${what}`)
    .join("\n                 ")}
  --plant FAULT  plant a fault that has to be found: ${Object.keys(PLANTED_FAULTS).join(", ")}
`;
  return async (args) => {
    const values = readOptions(
      help,
      {
        times: { type: "string", default: "20" },
        minutes: { type: "string" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        senders: { type: "string", default: "8" },
        only: { type: "string" },
        plant: { type: "string" },
      },
      args,
    );
    const [times, seed, senders] = [Number(values.times), Number(values.seed), Number(values.senders)];
    const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
    const ofKind = kindOf(values, Object.keys(kinds) as Kind[]);
    const isUsable = [times, seed, senders, minutes ?? 0].every((number) => number >= 0);
    if (ofKind === undefined || !isUsable) {
      process.stderr.write(help);
      return 2;
    }
    const again = `npm run faults -- ${name} --times ${times} --seed ${seed} --senders ${senders}${kindAgain(ofKind)}`;
    const run = (options: CampaignOptions) => campaign.run({ ...options, ...ofKind });
    return await printCampaign(again, { times, seed, senders }, run, minutes);
  };
}
