import type { Role } from "../db/presence.ts";
import { createProcessMetrics, type MetricValues, renderMetrics, sumMetrics } from "../observe/metrics.ts";
import type { MainCalls } from "./thread-data.ts";

/** A thread, or several that do the same, as far as the whole process can be asked about it. */
export interface ProcessPart {
  /** Why it can accept nothing now. */
  blockedReason?(): Promise<string | undefined>;
  /** Values of the metrics of each thread. */
  metrics(): Promise<readonly MetricValues[]>;
}

/** What the process says of itself as a whole, whichever of its threads is asked: each of its parts is asked in turn. */
export class WholeProcess {
  readonly #parts: ProcessPart[] = [];
  readonly #roles: readonly Role[];
  readonly #metrics = createProcessMetrics();

  /** `roles`: what the node is for. */
  constructor(roles: readonly Role[]) {
    this.#roles = roles;
  }

  /** For the threads to call. */
  readonly calls: MainCalls = {
    blockedReason: async () => {
      const reasons = await Promise.all(this.#parts.map((part) => part.blockedReason?.()));
      return reasons.find((reason) => reason !== undefined);
    },
    metrics: async () => renderMetrics(await this.#readParts()),
  };

  /** Values of the metrics of all its threads, added up. */
  async readMetrics(): Promise<MetricValues> {
    return sumMetrics(await this.#readParts());
  }

  async #readParts(): Promise<MetricValues[]> {
    const ofParts = await Promise.all(this.#parts.map((part) => part.metrics()));
    const isReady = (await this.calls.blockedReason(undefined)) === undefined;
    for (const role of this.#roles) this.#metrics.ready.set({ role }, isReady ? 1 : 0);
    return [await this.#metrics.registry.getMetricsAsJSON(), ...ofParts.flat()];
  }

  add(part: ProcessPart): void {
    this.#parts.push(part);
  }
}
