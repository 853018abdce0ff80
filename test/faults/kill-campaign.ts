import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { killQuietly, serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { type CampaignOptions, type Faults, READY_MS_MAX, runCampaign } from "./campaign.ts";
import type { CampaignReport } from "./campaign-report.ts";
import { hasOpenLogWriter } from "./check-sessions.ts";
import { clusterOf } from "./database-of-service.ts";
import { LossyDisk } from "./lossy-disk.ts";
import type { PlantedFault } from "./plant.ts";
import { killPostgres, pickVictim } from "./postgres-victims.ts";
import { ServiceProcess } from "./service-process.ts";

export const KILL_TARGETS = ["service", "postgres", "both", "power"] as const;
/** `both`: the service and every process of its PostgreSQL at the same moment. `power`: these, and what was not synced is lost. */
export type KillTarget = (typeof KILL_TARGETS)[number];

export interface KillOptions extends CampaignOptions {
  readonly target: KillTarget;
  readonly plant?: PlantedFault | undefined;
}

/** A kill comes so long after ready at most: into the first flushes, the takeover of buckets, or the steady load. */
const UP_MS_MAX = 1_500;
/** A start takes about half a second, a recovery less; a second kill is to fall into them. */
const IN_START_MS_MAX = 700;
const IN_RECOVERY_MS_MAX = 400;
const SECOND_KILL = 0.15;

/** The kills of one campaign, one after another; each is over when the service is ready again. */
class Killer implements Faults {
  readonly counts: Record<string, number> = {};
  #kills = 0;
  readonly #service: ServiceProcess;
  readonly #disk: LossyDisk | undefined;
  readonly #options: KillOptions;
  readonly #random: SeededRandom;

  constructor(service: ServiceProcess, disk: LossyDisk | undefined, options: KillOptions) {
    this.#service = service;
    this.#disk = disk;
    this.#options = options;
    this.#random = SeededRandom.stream(options.seed, 2);
  }

  async one(): Promise<{ what: string; readyMs: number }> {
    const random = this.#random;
    await delay(random.between(0, UP_MS_MAX));
    const { target } = this.#options;
    const what = await (target === "postgres" ? this.#killPostgres() : this.#killService());
    const again = this.#kills < this.#options.times && random.chance(SECOND_KILL);
    if (target !== "postgres") {
      if (again) await this.#killInStart();
      return { what, readyMs: await this.#startAgain() };
    }
    if (again) {
      await delay(random.between(0, IN_RECOVERY_MS_MAX));
      await this.#killPostgres();
    }
    return { what, readyMs: await this.#untilBack() };
  }

  async #killService(): Promise<string> {
    const { target } = this.#options;
    const what = target === "both" ? "service and PostgreSQL" : target;
    // PostgreSQL first, in the same turn as far as the system lets: the service must not see it gone and tidy up.
    if (target !== "service") await killPostgres(await this.#cluster(), "everything", this.#random);
    await this.#service.end("SIGKILL");
    await this.#losePower();
    this.#count(what);
    return what;
  }

  #cluster(): Promise<string> {
    return clusterOf(this.#service.dataDir);
  }

  /** If the target is the power: once no process of PostgreSQL is left, its disk loses what was not synced. */
  async #losePower(): Promise<void> {
    if (this.#disk === undefined) return;
    const cluster = await this.#cluster();
    await until(async () => {
      const left = await serverProcesses(cluster);
      for (const pid of left) killQuietly(pid, "SIGKILL");
      return left.length === 0;
    }, READY_MS_MAX);
    await this.#disk.losePower();
  }

  async #killInStart(): Promise<void> {
    this.#service.start();
    await delay(this.#random.between(0, IN_START_MS_MAX));
    await this.#service.end("SIGKILL");
    await this.#losePower();
    this.#count("in the start");
  }

  async #startAgain(): Promise<number> {
    const startedAt = performance.now();
    this.#service.start();
    await this.#service.untilReady(READY_MS_MAX);
    return performance.now() - startedAt;
  }

  #backends: readonly number[] = [];
  #killedAt = 0;

  async #killPostgres(): Promise<string> {
    const victim = pickVictim(this.#random);
    let backends: readonly number[] | undefined;
    await until(async () => {
      backends = await killPostgres(await this.#cluster(), victim, this.#random);
      return backends !== undefined;
    }, READY_MS_MAX);
    this.#killedAt = performance.now();
    this.#backends = backends ?? [];
    this.#count(victim);
    return victim;
  }

  /**
   * Back is a PostgreSQL without any backend of before, an open log writer in it, and a service that says it is ready: its
   * word alone may still be that from before the kill, as long as it has not noticed.
   */
  async #untilBack(): Promise<number> {
    const { dataDir } = this.#service;
    const cluster = await this.#cluster();
    await until(async () => {
      const alive = new Set(await serverProcesses(cluster));
      return !this.#backends.some((pid) => alive.has(pid)) && (await hasOpenLogWriter(dataDir));
    }, READY_MS_MAX);
    await this.#service.untilReady(READY_MS_MAX);
    return performance.now() - this.#killedAt;
  }

  #count(what: string): void {
    this.#kills += 1;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

/** Runs the service under load and kills it, its PostgreSQL or both, with or without their disk, `times` times at moments of the seed. */
export async function runKills(options: KillOptions): Promise<CampaignReport> {
  const { plant, target } = options;
  const disk = target === "power" ? await LossyDisk.mount() : undefined;
  const dataDir = disk === undefined ? undefined : join(disk.directory, "data");
  if (dataDir !== undefined) await mkdir(dataDir);
  const service = await ServiceProcess.prepare({ plant, ...(dataDir === undefined ? {} : { dataDir }) });
  const report = await runCampaign(service, options, new Killer(service, disk, options));
  if (report.problems.length === 0) await disk?.unmount();
  return report;
}
