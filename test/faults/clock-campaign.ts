import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "../workload/seeded-random.ts";
import {
  type CampaignOptions,
  type DrawnOf,
  FaultsOfKinds,
  type Load,
  READY_MS_MAX,
  runCampaign,
  untilAccepting,
} from "./campaign.ts";
import type { FaultCampaign, OfKind } from "./campaign-command.ts";
import type { CampaignReport } from "./campaign-report.ts";
import { newToken } from "./new-token.ts";
import { askAround } from "./probe.ts";
import { ServiceProcess } from "./service-process.ts";
import { makeSteppable, stepDatabase } from "./stepped-database.ts";

const KINDS = {
  service: "the wall clock of the service's process",
  database: "the clock of the database as its statements see it",
  both: "both",
  restart: "both, and the service is killed and started again; it then issues a token",
} as const;
type Kind = keyof typeof KINDS;
type ClockOptions = CampaignOptions & OfKind<Kind>;

const MINUTE_MS = 60_000;
const SERVICE_STEPS_MS = [2_000, 90_000, 60 * MINUTE_MS, 25 * 60 * MINUTE_MS] as const;
const DATABASE_STEPS_MS = [2_000, 30_000, 5 * MINUTE_MS, 30 * MINUTE_MS] as const;
/**
 * The senders' token is of the beginning, when the database's clock stands at the first of these: set back further, the
 * service must refuse a token of the future; beyond the second, one that has expired.
 */
const DATABASE_SHIFT_MS = { least: -45 * MINUTE_MS, most: 10 * MINUTE_MS } as const;
const UP_MS_MAX = 1_500;
/** Long enough for each thread to look around, whoever it then takes for silent. */
const HELD_MS = { least: 1_000, most: 4_000 } as const;

interface DrawnStep extends DrawnOf<Kind> {
  readonly serviceMs: number;
  readonly stepMs: number;
  readonly heldMs: number;
}

/** Sets clocks forward and back, one after another; they stay where they were set. */
class Stepper extends FaultsOfKinds<Kind, DrawnStep> {
  readonly #file: string;
  #databaseMs: number = DATABASE_SHIFT_MS.least;

  constructor(service: ServiceProcess, file: string, options: ClockOptions) {
    super(service, options, UP_MS_MAX);
    this.#file = file;
  }

  protected override draw(random: SeededRandom): DrawnStep {
    return {
      kind: random.pick(["service", "database", "database", "both", "restart"] as const),
      serviceMs: random.pick(SERVICE_STEPS_MS) * (random.chance(0.5) ? 1 : -1),
      stepMs: random.pick(DATABASE_STEPS_MS) * (random.chance(0.5) ? 1 : -1),
      heldMs: random.between(HELD_MS.least, HELD_MS.most),
    };
  }

  protected override async happen(
    { kind, serviceMs, stepMs, heldMs }: DrawnStep,
    load: Load,
  ): Promise<number> {
    const { dataDir, address } = this.service;
    if (kind !== "database") await writeFile(this.#file, String(serviceMs));
    if (kind !== "service") await stepDatabase(dataDir, this.#stepped(stepMs));
    if (kind === "restart") {
      await this.service.end("SIGKILL");
      this.service.start();
    }
    const steppedAt = performance.now();
    await untilAccepting(this.service, load, steppedAt);
    const readyMs = performance.now() - steppedAt;
    if (kind === "restart") await this.#takeToken();
    await delay(heldMs);
    this.problems.push(...(await askAround(address, load)));
    return readyMs;
  }

  /** A step that would lead out of bounds is taken the other way. */
  #stepped(stepMs: number): number {
    const { least, most } = DATABASE_SHIFT_MS;
    const to = this.#databaseMs + stepMs;
    this.#databaseMs = to < least || to > most ? this.#databaseMs - stepMs : to;
    this.#databaseMs = Math.min(most, Math.max(least, this.#databaseMs));
    return this.#databaseMs;
  }

  async #takeToken(): Promise<void> {
    const token: string | undefined = await newToken(this.service);
    if (token === undefined) this.problems.push("no token is issued after a step of the clock");
  }
}

/** Runs the service, and sets its clock and its database's `times` times at moments of the seed. */
async function runClock(options: ClockOptions): Promise<CampaignReport> {
  const module = new URL("./shift-clock.ts", import.meta.url);
  const file = (dataDir: string) => join(dataDir, "clock-shift");
  // Which file is known once there is a data directory.
  const first = await ServiceProcess.prepare();
  const { dataDir } = first;
  first.start();
  try {
    await first.untilReady(READY_MS_MAX);
    await makeSteppable(dataDir);
    // Before the moment at which the first signing key became active, too.
    await stepDatabase(dataDir, DATABASE_SHIFT_MS.least);
  } finally {
    await first.end("SIGTERM");
  }
  module.search = new URLSearchParams({ file: file(dataDir), database: "1" }).toString();
  const service = await ServiceProcess.prepare({ dataDir, imports: [module.href] });
  return await runCampaign(service, options, new Stepper(service, file(dataDir), options));
}

export const clockCampaign: FaultCampaign<Kind> = {
  name: "clock",
  about: `Runs the service with clocks that can be set, and sets them forward and back by seconds to hours at random moments under
load: Date in all threads of the service, and the database's clock as the service's statements see it.
`,
  kinds: KINDS,
  run: runClock,
};
