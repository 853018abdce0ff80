import { setTimeout as delay } from "node:timers/promises";
import { serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import {
  type CampaignOptions,
  type DrawnOf,
  FaultsOfKinds,
  type Load,
  runCampaign,
  untilAccepting,
} from "./campaign.ts";
import type { FaultCampaign, OfKind } from "./campaign-command.ts";
import type { CampaignReport } from "./campaign-report.ts";
import { clusterOf, lifeOfDatabase } from "./database-of-service.ts";
import { figure } from "./figures.ts";
import { MemoryLimit } from "./memory-limit.ts";
import { Senders } from "./senders.ts";
import { ServiceProcess } from "./service-process.ts";

const KINDS = {
  both: "the limit is of the service and its PostgreSQL: the kernel chooses",
  node: "of the service alone",
} as const;
type Kind = keyof typeof KINDS;
type MemoryOptions = CampaignOptions & OfKind<Kind>;

const MIB = 1_048_576;
const UP_MS_MAX = 2_000;
const HELD_MS_MAX = 1_500;
/** So much more than it uses it may use at first. */
const SPARE_MIB = { least: 4, most: 48 } as const;
/** The limit is drawn tighter so often, until the kernel has killed. */
const TIGHTEN_MS = 250;
const TIGHTENED = 0.97;
const KILLED_MS_MAX = 30_000;
/** Beside the campaign's own senders, with bodies of some MB. */
const LARGE_SENDERS = 4;

interface DrawnLimit extends DrawnOf<Kind> {
  readonly spareBytes: number;
  readonly heldMs: number;
}

/** Draws the limit tight while large bodies come, until the kernel has killed; then lifts it, and the supervisor starts again. */
class Limiter extends FaultsOfKinds<Kind, DrawnLimit> {
  readonly #limit: MemoryLimit;
  #ofService = 0;
  #ofPostgres = 0;

  constructor(service: ServiceProcess, limit: MemoryLimit, options: MemoryOptions) {
    super(service, options, UP_MS_MAX);
    this.#limit = limit;
  }

  figures(): string[] {
    return [figure("hit by the kernel", `${this.#ofService} the service, ${this.#ofPostgres} PostgreSQL`)];
  }

  protected override draw(random: SeededRandom): DrawnLimit {
    return {
      kind: random.pick(["both", "node"] as const),
      spareBytes: random.between(SPARE_MIB.least, SPARE_MIB.most) * MIB,
      heldMs: random.between(0, HELD_MS_MAX),
    };
  }

  protected override async happen({ kind, spareBytes, heldMs }: DrawnLimit, load: Load): Promise<number> {
    const { dataDir, address } = this.service;
    const [life, pid] = [await lifeOfDatabase(dataDir), this.service.pid];
    const cluster = await clusterOf(dataDir);
    if (kind === "node") await this.#limit.exempt(await serverProcesses(cluster));
    this.service.supervise();
    const source = { next: () => load.source.nextLarge() };
    const large = new Senders({
      ...load,
      source,
      route: () => ({ address }),
      seed: load.seed + 1,
      senders: LARGE_SENDERS,
    });
    try {
      await this.#untilKilled(spareBytes);
      await delay(heldMs);
    } finally {
      await this.#limit.lift();
      large.abandon();
    }
    const endedAt = performance.now();
    await untilAccepting(this.service, load, endedAt);
    this.service.stopStarting();
    if (this.service.pid !== pid) this.#ofService += 1;
    if ((await lifeOfDatabase(dataDir)) !== life) this.#ofPostgres += 1;
    await large.stop();
    return performance.now() - endedAt;
  }

  async #untilKilled(spareBytes: number): Promise<void> {
    const before = await this.#limit.kills();
    let bytes = (await this.#limit.usedBytes()) + spareBytes;
    const startedAt = performance.now();
    while ((await this.#limit.kills()) === before) {
      if (performance.now() - startedAt > KILLED_MS_MAX) {
        this.problems.push(`the kernel killed nothing at ${Math.round(bytes / MIB)} MiB`);
        return;
      }
      // What cannot be taken back now perhaps can a moment later.
      if (await this.#limit.limitTo(bytes)) bytes *= TIGHTENED;
      await delay(TIGHTEN_MS);
    }
  }
}

/** Runs the service in a control group whose memory becomes too little `times` times at moments of the seed. */
async function runMemory(options: MemoryOptions): Promise<CampaignReport> {
  const limit = await MemoryLimit.create();
  const { launcher } = limit;
  const service = await ServiceProcess.prepare({ launcher, plant: options.plant });
  try {
    return await runCampaign(service, options, new Limiter(service, limit, options));
  } finally {
    await limit.remove();
  }
}

export const memoryCampaign: FaultCampaign<Kind> = {
  name: "memory",
  about: `Runs the service in a control group of Linux (version 1) and draws its memory limit tight at random moments, while bodies of
some MB come, until the kernel kills; then lifts it. The service is started again when it ended, as a supervisor does.
`,
  kinds: KINDS,
  run: runMemory,
};
