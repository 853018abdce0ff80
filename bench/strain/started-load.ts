import { ChildTask } from "../child-task.ts";
import type { Closers } from "../closers.ts";
import { type StartedService, startService } from "../started-service.ts";
import { untilDrained } from "../until-drained.ts";
import { findCapacity, type OfferedLoad, orderOf } from "./capacity.ts";
import { boundlessPartners } from "./partners.ts";
import { RECORDS_PER_BATCH, type SteadyResult } from "./steady-load.ts";

/** The result of an offered load. */
export interface Offered {
  readonly result: SteadyResult;
  /** Records of batches that got 202. */
  readonly acceptedRecords: number;
  /** From the first batch until all accepted batches are applied. */
  readonly seconds: number;
}

/** A service with partners without rate limits, and their load process. */
export class StartedLoad {
  readonly started: StartedService;
  readonly #steady: ChildTask;
  readonly #load: OfferedLoad;
  #runs = 0;

  private constructor(started: StartedService, steady: ChildTask, load: OfferedLoad) {
    this.started = started;
    this.#steady = steady;
    this.#load = load;
  }

  static async start(closers: Closers, seed: number): Promise<StartedLoad> {
    const started = closers.kept(await startService("bellhop"));
    const { targets } = await boundlessPartners(started.service);
    const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
    return new StartedLoad(started, steady, { targets, seed });
  }

  findCapacity(progress: (line: string) => void): Promise<number> {
    return findCapacity(this.#steady, this.started.client, this.#load, progress);
  }

  /** Offers batches at a fixed rate, independent of responses, and waits until the accepted ones are applied. */
  async offer(perSecond: number, seconds: number, connections: number): Promise<Offered> {
    this.#runs += 1;
    const order = { ...orderOf(this.#load, perSecond, seconds, this.#runs), connections };
    const result = await this.#steady.call<SteadyResult>("run", order);
    const drainedAt = await untilDrained(this.started.client, result.startedAt);
    const accepted = result.sent.filter(({ status }) => status === 202).length;
    return {
      result,
      acceptedRecords: accepted * RECORDS_PER_BATCH,
      seconds: (drainedAt - result.startedAt) / 1000,
    };
  }
}
