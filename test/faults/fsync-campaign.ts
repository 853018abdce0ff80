import { setTimeout as delay } from "node:timers/promises";
import { serverProcesses } from "../../src/platform/db/embedded/postmaster.ts";
import { until } from "../support/until.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import {
  type CampaignOptions,
  type DrawnOf,
  FaultsOfKinds,
  type Load,
  READY_MS_MAX,
  runCampaign,
  SENDERS,
  untilAccepting,
} from "./campaign.ts";
import type { FaultCampaign, OfKind } from "./campaign-command.ts";
import type { CampaignReport } from "./campaign-report.ts";
import { clusterOf, lifeOfDatabase, withDatabaseOf, withSuperuserOf } from "./database-of-service.ts";
import { FaultyCalls, mayInject } from "./faulty-calls.ts";
import { figure } from "./figures.ts";
import { askAround } from "./probe.ts";
import { Senders } from "./senders.ts";
import { ServiceProcess } from "./service-process.ts";

const KINDS = {
  sync: "every fsync and fdatasync of PostgreSQL fails, through its recovery, for a while",
  once: "one fails, of a process that accepts or of the checkpointer",
  write: "every write fails, of the write-ahead log and of tables",
  slow: "each sync takes 0.2 to 3 s, and a crowd of senders comes",
} as const;
type Kind = keyof typeof KINDS;

export type FsyncOptions = CampaignOptions & OfKind<Kind>;

const UP_MS_MAX = 2_000;
const HELD_MS = { least: 100, most: 2_000 } as const;
const SLOW_MS = { least: 200, most: 3_000 } as const;
/** Slow syncs last for so many of them. */
const SLOW_SYNCS = 3;
/** So many times the campaign's own senders come in addition, as partners that all push at the full hour. */
const CROWD = 6;
const SYNCS = ["fsync", "fdatasync"] as const;
const WRITES = ["pwrite64", "pwritev"] as const;

interface DrawnCalls extends DrawnOf<Kind> {
  readonly heldMs: number;
  /** How long each sync takes where syncs are slow. */
  readonly syncMs: number;
  /** Whether it hits a process that accepts, or the checkpointer. */
  readonly accepts: boolean;
}

/** Attaches to PostgreSQL's processes, lets calls fail or wait, detaches, and waits until batches are accepted again. */
class CallFaults extends FaultsOfKinds<Kind, DrawnCalls> {
  #crashes = 0;
  readonly #senders: number;

  constructor(service: ServiceProcess, options: FsyncOptions) {
    super(service, options, UP_MS_MAX);
    this.#senders = options.senders ?? SENDERS;
  }

  figures(): string[] {
    return [figure("of these PostgreSQL crashed", this.#crashes)];
  }

  protected override draw(random: SeededRandom): DrawnCalls {
    return {
      kind: random.pick(["sync", "once", "write", "slow"] as const),
      heldMs: random.between(HELD_MS.least, HELD_MS.most),
      syncMs: random.between(SLOW_MS.least, SLOW_MS.most),
      accepts: random.chance(0.7),
    };
  }

  protected override async happen(
    { kind, heldMs, syncMs, accepts }: DrawnCalls,
    load: Load,
  ): Promise<number> {
    const { dataDir } = this.service;
    const before = await lifeOfDatabase(dataDir);
    let endedAt: number;
    if (kind === "slow") endedAt = await this.#slow(load, syncMs);
    else if (kind === "once") endedAt = await this.#once(accepts, before);
    else endedAt = await this.#failing(kind === "sync" ? SYNCS : WRITES, heldMs, before);
    await untilAccepting(this.service, load, endedAt);
    const readyMs = performance.now() - endedAt;
    const crashed = (await lifeOfDatabase(dataDir)) !== before;
    if (crashed) this.#crashes += 1;
    if (crashed && kind === "slow") this.problems.push("PostgreSQL went away, only because syncs were slow");
    return readyMs;
  }

  async #failing(calls: readonly string[], heldMs: number, before: number): Promise<number> {
    const pids = await serverProcesses(await clusterOf(this.service.dataDir));
    const faulty = await FaultyCalls.attach(
      pids,
      calls.map((call) => `${call}:error=EIO`),
    );
    try {
      await this.#untilCrashed(before);
      await delay(heldMs);
    } finally {
      await faulty.detach();
    }
    return performance.now();
  }

  async #once(accepts: boolean, before: number): Promise<number> {
    const pid = await this.#victim(accepts);
    const faulty = await FaultyCalls.attach(
      [pid],
      SYNCS.map((call) => `${call}:error=EIO:when=1`),
    );
    try {
      // What a checkpoint has to sync is there under load; only it does not come by itself for minutes.
      if (!accepts)
        await withSuperuserOf(this.service.dataDir, (pool) => pool.query("checkpoint")).catch(
          () => undefined,
        );
      await this.#untilCrashed(before);
    } finally {
      await faulty.detach();
    }
    return performance.now();
  }

  async #victim(accepts: boolean): Promise<number> {
    return await withDatabaseOf(this.service.dataDir, async (pool) => {
      const { rows } = await pool.query<{ pid: number }>(
        `select pid from pg_stat_activity
        where case when $1 then application_name = 'bellhop accept' else backend_type = 'checkpointer' end`,
        [accepts],
      );
      return this.random.pick(rows).pid;
    });
  }

  async #slow(load: Load, syncMs: number): Promise<number> {
    const pids = await serverProcesses(await clusterOf(this.service.dataDir));
    const faulty = await FaultyCalls.attach(
      pids,
      SYNCS.map((call) => `${call}:delay_enter=${syncMs * 1_000}`),
    );
    const { address } = this.service;
    const { seed } = load;
    const crowd = new Senders({
      ...load,
      route: () => ({ address }),
      seed: seed + 1,
      senders: this.#senders * CROWD,
    });
    try {
      await delay(syncMs * SLOW_SYNCS);
      this.problems.push(...(await askAround(address, load)));
    } finally {
      await faulty.detach();
      await crowd.stop();
    }
    return performance.now();
  }

  /** Dead, or alive for the second time. */
  async #untilCrashed(before: number): Promise<void> {
    const { dataDir } = this.service;
    await until(async () => (await lifeOfDatabase(dataDir).catch(() => undefined)) !== before, READY_MS_MAX);
  }
}

/** Runs the service, and lets system calls of its PostgreSQL fail or wait `times` times at moments of the seed. */
export async function runFsync(options: FsyncOptions): Promise<CampaignReport> {
  await mayInject();
  const service = await ServiceProcess.prepare({ plant: options.plant });
  return await runCampaign(service, options, new CallFaults(service, options));
}

export const fsyncCampaign: FaultCampaign<Kind> = {
  name: "fsync",
  about: `Runs the service on its PostgreSQL, and lets system calls of that fail or wait at random moments under load (strace's
fault injection, attached to the running processes).
`,
  kinds: KINDS,
  run: runFsync,
};
