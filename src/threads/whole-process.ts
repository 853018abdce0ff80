import type { Role } from "../db/presence.ts";
import { type Obstacle, readinessOf } from "../http/readiness.ts";
import { createProcessMetrics, type MetricValues, renderMetrics, sumMetrics } from "../observe/metrics.ts";
import type { MainCalls } from "./thread-data.ts";

/** A thread, or several that do the same, as far as the whole process can be asked about it. */
export interface ProcessPart {
  /** What it cannot do now. */
  obstacles?(): Promise<readonly Obstacle[]>;
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
    readiness: async () => readinessOf(this.#roles, await this.#obstacles()),
    metrics: async () => renderMetrics(await this.#readParts()),
  };

  /** Values of the metrics of all its threads, added up. */
  async readMetrics(): Promise<MetricValues> {
    return sumMetrics(await this.#readParts());
  }

  async #readParts(): Promise<MetricValues[]> {
    const ofParts = await Promise.all(this.#parts.map((part) => part.metrics()));
    const obstacles = await this.#obstacles();
    for (const role of this.#roles)
      this.#metrics.ready.set({ role }, obstacles.some(({ roles }) => roles.includes(role)) ? 0 : 1);
    return [await this.#metrics.registry.getMetricsAsJSON(), ...ofParts.flat()];
  }

  async #obstacles(): Promise<Obstacle[]> {
    return (await Promise.all(this.#parts.map(async (part) => (await part.obstacles?.()) ?? []))).flat();
  }

  add(part: ProcessPart): void {
    this.#parts.push(part);
  }
}
