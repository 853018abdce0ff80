import type { Role } from "../platform/db/coordination.ts";
import {
  createProcessMetrics,
  type MetricValues,
  renderMetrics,
  sumMetrics,
} from "../platform/telemetry/metrics.ts";
import type { MainCalls, ServiceThread, ThreadCalls } from "./service-thread.ts";

/** A thread, or a part of the main one, that reports to the whole process. Calls reject if a thread does not answer in time. */
interface ProcessPart {
  /** Undefined for the main thread. */
  readonly name?: string;
  /** Why it cannot serve the role now; undefined if it can or has no part in it. */
  blockedReason?(role: Role): Promise<string | undefined>;
  metrics(): Promise<readonly MetricValues[]>;
}

/** The state of the whole process, collected from each of its threads. */
export class WholeProcess {
  readonly #parts: ProcessPart[] = [];
  readonly #lastRead = new Map<ProcessPart, readonly MetricValues[]>();
  readonly #roles: readonly Role[];
  readonly #metrics = createProcessMetrics();

  /** `roles`: the node's roles. */
  constructor(roles: readonly Role[]) {
    this.#roles = roles;
  }

  /** Calls for the threads. */
  readonly calls: MainCalls = {
    blockedReason: () => this.#blockedReason(balancedRoles(this.#roles)),
    metrics: async () => renderMetrics(await this.#readParts()),
  };

  /** Metric values summed over all threads. */
  async readMetrics(): Promise<MetricValues> {
    return sumMetrics(await this.#readParts());
  }

  async #readParts(): Promise<MetricValues[]> {
    const { registry, ready, unresponsiveThreads } = this.#metrics;
    let unresponsive = 0;
    const ofParts = this.#parts.map(async (part) => {
      const read = await part.metrics().catch(() => undefined);
      if (read === undefined) unresponsive += 1;
      else this.#lastRead.set(part, read);
      // Use the last values: without a thread's counts, sums would fall and rise again.
      return this.#lastRead.get(part) ?? [];
    });
    const ofRoles = this.#roles.map(async (role) =>
      ready.set({ role }, (await this.#blockedReason([role])) === undefined ? 1 : 0),
    );
    const values = (await Promise.all(ofParts)).flat();
    await Promise.all(ofRoles);
    unresponsiveThreads.set(unresponsive);
    return [await registry.getMetricsAsJSON(), ...values];
  }

  async #blockedReason(roles: readonly Role[]): Promise<string | undefined> {
    const asked = this.#parts.flatMap((part) =>
      roles.map((role) =>
        part.blockedReason?.(role).catch(() => `The thread ${part.name ?? "main"} does not answer.`),
      ),
    );
    return (await Promise.all(asked)).find((reason) => reason !== undefined);
  }

  add(part: ProcessPart): void {
    this.#parts.push(part);
  }

  /** Adds a thread for these roles. All threads of a role must be able to serve, as the next connection may reach any of them. */
  addThread({ name, call }: Pick<ServiceThread<ThreadCalls>, "name" | "call">, roles: readonly Role[]): void {
    this.add({
      name,
      blockedReason: async (role) =>
        roles.includes(role) ? await call("blockedReason", role, ANSWER_MS_MAX) : undefined,
      metrics: async () => [await call("metrics", undefined, ANSWER_MS_MAX)],
    });
  }
}

/**
 * The roles that load balancers check: whether requests can be accepted or, for a node that only applies, whether it applies. Other nodes
 * may apply what is accepted here.
 */
function balancedRoles(roles: readonly Role[]): readonly Role[] {
  const serving = roles.filter((role) => role !== "apply");
  return serving.length === 0 ? roles : serving;
}
/** A thread that has not answered by then hangs or is overloaded. */
const ANSWER_MS_MAX = 2_000;
