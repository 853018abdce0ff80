import type { Role } from "../db/presence.ts";
import { createProcessMetrics, type MetricValues, renderMetrics, sumMetrics } from "../observe/metrics.ts";
import type { MainCalls } from "./thread-data.ts";

/** A thread, or several that do the same, as far as the whole process can be asked about it. */
export interface ProcessPart {
  /** Why it cannot do now what the role is for; undefined when it can, or has no part in it. */
  blockedReason?(role: Role): Promise<string | undefined>;
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
    blockedReason: () => this.#blockedReason(balancedRoles(this.#roles)),
    metrics: async () => renderMetrics(await this.#readParts()),
  };

  /** Values of the metrics of all its threads, added up. */
  async readMetrics(): Promise<MetricValues> {
    return sumMetrics(await this.#readParts());
  }

  async #readParts(): Promise<MetricValues[]> {
    const ofParts = await Promise.all(this.#parts.map((part) => part.metrics()));
    for (const role of this.#roles)
      this.#metrics.ready.set({ role }, (await this.#blockedReason([role])) === undefined ? 1 : 0);
    return [await this.#metrics.registry.getMetricsAsJSON(), ...ofParts.flat()];
  }

  async #blockedReason(roles: readonly Role[]): Promise<string | undefined> {
    const asked = this.#parts.flatMap((part) => roles.map((role) => part.blockedReason?.(role)));
    return (await Promise.all(asked)).find((reason) => reason !== undefined);
  }

  add(part: ProcessPart): void {
    this.#parts.push(part);
  }
}

/**
 * What balancers ask about: whether requests can be taken, and of a node that takes none whether it applies. What is accepted here
 * another node may apply.
 */
function balancedRoles(roles: readonly Role[]): readonly Role[] {
  const serving = roles.filter((role) => role !== "apply");
  return serving.length === 0 ? roles : serving;
}
