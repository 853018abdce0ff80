import { once } from "node:events";
import { BellhopClient, BellhopError } from "#client";
import { hotelProfile } from "../simulate/hotel-profile.ts";
import { makeApart } from "../simulate/make-apart.ts";
import { type SentSimulation, SimulationCutShort, sendSimulation } from "../simulate/send-simulation.ts";
import { simulate } from "../simulate/simulation.ts";
import { type SimulationCounts, writeFolder, writeLines } from "../simulate/write-simulation.ts";
import { readSimulateOptions, type SimulateOptions } from "./simulate-options.ts";
import { findTarget, isLocal, type SimulationTarget } from "./simulate-target.ts";
import { countsLines, cutShortText, faultLines, placesToLook, sentLines } from "./simulate-text.ts";
import { untilStopped } from "./stop-signals.ts";
import { UsageError } from "./verb.ts";

const HELP = `bellhop simulate [--properties N] [--days D] [--seed S] [--faults all|NAME,…] [--out DIR|-] …

Makes up a hotel group that lives day by day, calibrated on real bookings (docs/simulator.md), and sends what its hotels send: by
default to the service of this machine, as a client of its own. The same seed makes the same records, byte for byte.

  --properties N   hotels (3); every second one is a resort
  --days D         days (30), after a cold start with what is on the books
  --seed S         (1)
  --start DATE     the first day; so that the last one was yesterday, or with --out 2025-01-01
  --client-code C  (DEMO)
  --horizon N      nights of each nightly push of inventory (365)
  --faults LIST    what goes wrong on the way, or all:
${faultLines()
  .map((line) => `                  ${line.trimStart()}`)
  .join("\n")}

  --out DIR        writes inventories.ndjson, groups.ndjson, reservations.ndjson and planted.ndjson there instead of sending
  --out -          writes lines of {"date","wave","resource","record"} to standard output; with --resource R plain records of one

  --url URL        the service, with --client-id and --client-secret (and --auth-url) where it is another machine's
  --speed FACTOR   simulated seconds that pass in one, 86400 for a day a second; max by default
  --batch N        records of a batch (1000); --concurrency N  requests of one resource at once (4)
  --no-outcomes    does not wait until batches are applied
  --ahead MB       makes so many megabytes of batches before the first is sent (0): for load, with --no-outcomes
  --json           one JSON object on standard output

Exit code: 0 all was taken as it should be (what --faults plants included), 1 not, or not all could be sent. 130, 143: stopped
by SIGINT, SIGTERM; the same line sends the same records, of which the service has those already that came before.
`;

/** `bellhop simulate`. */
export async function simulateCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  try {
    const options = readSimulateOptions(args, new Date());
    if (options === undefined) {
      process.stdout.write(HELP);
      return 0;
    }
    return options.out === undefined ? await send(options, environment) : await write(options, options.out);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`bellhop simulate: ${error.message} See bellhop simulate --help.\n`);
    return 2;
  }
}

async function write(options: SimulateOptions, out: string): Promise<number> {
  const days = simulate(options.simulation);
  const counts: SimulationCounts =
    out === "-"
      ? await writeLines(days, options.resource, writeToStandardOutput)
      : await writeFolder(days, out);
  const text = options.json ? JSON.stringify(counts) : countsLines(options.simulation, counts).join("\n");
  // Standard output is the records' own.
  (out === "-" ? process.stderr : process.stdout).write(`${text}\n`);
  return 0;
}

async function writeToStandardOutput(bytes: Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
}

async function send(options: SimulateOptions, environment: NodeJS.ProcessEnv): Promise<number> {
  const { simulation, batchRecords, concurrency, speed, aheadBytes, waitForOutcomes, json } = options;
  const target = await findTarget(options, environment);
  const { baseUrl, authUrl, clientId, clientSecret } = target;
  const bellhop = new BellhopClient({
    ...{ baseUrl, clientId, clientSecret, concurrency },
    // On one machine compressing takes longer than the way.
    compression: isLocal(baseUrl) ? "none" : "gzip",
    ...(authUrl === undefined ? {} : { authUrl }),
  });
  const stopped = untilStopped();
  const showsProgress = !json && process.stderr.isTTY === true;
  const { signal } = stopped;
  const days = makeApart(simulation, { batchRecords, aheadBytes, isPaced: speed !== undefined, signal });
  try {
    const sent = await sendSimulation(days, bellhop, {
      ...{ concurrency, speed, waitForOutcomes, signal },
      lenient: simulation.faults.has("invalid"),
      onDay: (soFar, { date }) => {
        if (showsProgress) process.stderr.write(`\r${progressText(soFar, date, simulation.days)}`);
      },
    });
    if (showsProgress) process.stderr.write("\n");
    tell(options, sent, target);
    return sent.rejected === (sent.planted.invalid ?? 0) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof SimulationCutShort)) throw error;
    // What nobody asked for, and is no answer of the service, is a fault of the simulator's own.
    if (!signal.aborted && !(error.cause instanceof BellhopError)) throw error.cause;
    if (showsProgress) process.stderr.write("\n");
    tell(options, error.sent, undefined);
    const reason: unknown = signal.aborted ? signal.reason : error;
    process.stderr.write(`bellhop simulate: ${cutShortText(simulation, error.sent, reason)}\n`);
    return stopped.code() ?? 1;
  } finally {
    stopped.forget();
  }
}

/** `target`: where to look at what was sent to the end. */
function tell(
  { simulation, json }: SimulateOptions,
  sent: SentSimulation,
  target: SimulationTarget | undefined,
): void {
  const { propertyCode } = hotelProfile(simulation.seed, 0, simulation.clientCode);
  const lines = json
    ? [JSON.stringify({ ...sent, complete: target !== undefined })]
    : [
        ...countsLines(simulation, sent),
        ...sentLines(sent),
        ...(target === undefined ? [] : placesToLook(simulation, target, propertyCode)),
      ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

function progressText({ days, accepted, elapsedMs }: SentSimulation, date: string, of: number): string {
  const perSecond = Math.round((accepted * 1_000) / Math.max(elapsedMs, 1));
  return `day ${days - 1} of ${of}, ${date}: ${accepted.toLocaleString("en-US")} records, ${perSecond.toLocaleString("en-US")} a second `;
}
