import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../support/until.ts";
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
import { lifeOfDatabase, withSuperuserOf } from "./database-of-service.ts";
import { figure } from "./figures.ts";
import { askAround } from "./probe.ts";
import { ServiceProcess } from "./service-process.ts";
import { SmallDisk } from "./small-disk.ts";

const KINDS = {
  floor: "less is free than MIN_FREE_DISK_MIB, and PostgreSQL must not notice",
  full: "full from one moment to the next, with no notice",
  wal: "the same, and the write-ahead log needs a new file: PostgreSQL panics",
  start: "the same, and the service is killed and started again on the full disk",
} as const;
type Kind = keyof typeof KINDS;

export interface DiskOptions extends CampaignOptions, OfKind<Kind> {
  /** Of the file system; by default room for the write-ahead log at its largest. */
  readonly diskMib?: number;
}

const MIB = 1_048_576;
const DISK_MIB = 1_024;
const FLOOR_MIB = 128;
/** The disk is filled so long after ready at most. */
const UP_MS_MAX = 2_500;
const HELD_MS = { least: 300, most: 4_000 } as const;
/** Whatever PostgreSQL gives back while the disk is to be full is taken again so often. */
const TOP_UP_MS = 50;
/** Each thread looks at the disk once a second: after so long without a 202 all of them have. */
const QUIET_MS = 1_500;
const REFUSING_MS_MAX = 20_000;
/** More write-ahead files than it ever keeps for reuse. */
const SWITCHES_MAX = 80;

interface DrawnFilling extends DrawnOf<Kind> {
  readonly heldMs: number;
  /** Of the floor: what is left free. */
  readonly share: number;
}

/** Fills the disk, holds it so, frees it, and waits until batches are accepted again. */
class Filler extends FaultsOfKinds<Kind, DrawnFilling> {
  #crashes = 0;
  readonly #disk: SmallDisk;

  constructor(service: ServiceProcess, disk: SmallDisk, options: DiskOptions) {
    super(service, options, UP_MS_MAX);
    this.#disk = disk;
  }

  figures(): string[] {
    return [figure("of these PostgreSQL crashed", this.#crashes)];
  }

  protected override draw(random: SeededRandom): DrawnFilling {
    return {
      kind: random.pick(["floor", "full", "full", "wal", "wal", "start"] as const),
      heldMs: random.between(HELD_MS.least, HELD_MS.most),
      share: random.between(30, 90) / 100,
    };
  }

  protected override async happen({ kind, heldMs, share }: DrawnFilling, load: Load): Promise<number> {
    const { dataDir } = this.service;
    const before = await lifeOfDatabase(dataDir);
    if (kind === "floor") await this.#belowFloor(load, share, heldMs);
    else await this.#full(load, kind, heldMs);
    const freedAt = performance.now();
    await this.#disk.free();
    await untilAccepting(this.service, load, freedAt);
    this.service.stopStarting();
    const readyMs = performance.now() - freedAt;
    const crashed = (await lifeOfDatabase(dataDir)) !== before;
    if (crashed) this.#crashes += 1;
    if (crashed && kind === "floor")
      this.problems.push("PostgreSQL went away above a disk that was not full");
    return readyMs;
  }

  /** All threads refuse within a moment, none accepts until there is room again, and PostgreSQL goes on. */
  async #belowFloor(load: Load, share: number, heldMs: number): Promise<void> {
    await this.#disk.fill(share * FLOOR_MIB * MIB);
    const { ledger } = load;
    const filledAt = performance.now();
    await until(
      () => performance.now() - Math.max(filledAt, ledger.lastAcceptedSentAt) > QUIET_MS,
      REFUSING_MS_MAX,
    );
    const refusingSince = performance.now();
    await delay(heldMs);
    if (await this.service.isReady()) this.problems.push("/readyz says ready below the floor of free space");
    this.problems.push(...(await askAround(this.service.address, load, [200])));
    if (ledger.lastAcceptedSentAt > refusingSince)
      this.problems.push("a batch was accepted below the floor of free space");
  }

  async #full(load: Load, kind: "full" | "wal" | "start", heldMs: number): Promise<void> {
    await this.#disk.fill(0);
    const held = new AbortController();
    const keptFull = this.#keepFull(held.signal);
    try {
      if (kind === "wal") await this.#useUpWriteAheadFiles();
      await delay(heldMs / 2);
      if (kind === "start") await this.#startOnFullDisk();
      else this.problems.push(...(await askAround(this.service.address, load)));
      await delay(heldMs / 2);
    } finally {
      held.abort();
      await keptFull;
    }
  }

  async #keepFull(held: AbortSignal): Promise<void> {
    while (!held.aborted) {
      await this.#disk.fill(0);
      await delay(TOP_UP_MS);
    }
  }

  /** Each switch begins another file: those that are kept for reuse first, then one that there is no room for. */
  async #useUpWriteAheadFiles(): Promise<void> {
    await withSuperuserOf(this.service.dataDir, async (pool) => {
      for (let switched = 0; switched < SWITCHES_MAX; switched += 1)
        await pool.query("select pg_logical_emit_message(false, 'faults', ''), pg_switch_wal()");
    }).then(
      () => this.problems.push(`${SWITCHES_MAX} new write-ahead files on a full disk, and no panic`),
      () => undefined,
    );
  }

  /** As a supervisor would: killed, it is started, and started again when that start gives up. */
  async #startOnFullDisk(): Promise<void> {
    await this.service.end("SIGKILL");
    this.service.startUntilStopped();
  }
}

/** Runs the service with its data on a small file system, which is filled `times` times at moments of the seed. */
export async function runDisk(options: DiskOptions): Promise<CampaignReport> {
  const disk = await SmallDisk.mount((options.diskMib ?? DISK_MIB) * MIB);
  const dataDir = join(disk.directory, "data");
  await mkdir(dataDir);
  const environment = { MIN_FREE_DISK_MIB: String(FLOOR_MIB) };
  const service = await ServiceProcess.prepare({ dataDir, environment, plant: options.plant });
  try {
    const report = await runCampaign(service, options, new Filler(service, disk, options));
    if (report.problems.length === 0) await disk.unmount();
    return report;
  } finally {
    // What a problem leaves to be looked at is the data, not the ballast, which is the machine's memory.
    await disk.free();
  }
}

export const diskCampaign: FaultCampaign<Kind> = {
  name: "disk",
  about: `Runs the service with DATA_DIR on a small file system of its own (tmpfs of ${DISK_MIB} MiB, MIN_FREE_DISK_MIB ${FLOOR_MIB}), and
fills that at random moments under load with a ballast file, which is removed after a while. The service's own log lies
there, too.
`,
  kinds: KINDS,
  run: runDisk,
};
