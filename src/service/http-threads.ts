import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config.ts";
import type { Role } from "../platform/db/coordination.ts";
import {
  createProcessMetrics,
  type MetricValues,
  renderMetrics,
  sumMetrics,
} from "../platform/telemetry/metrics.ts";
import type { HttpCalls, HttpOrder } from "./http-thread.ts";
import type { Ports } from "./serve-http.ts";
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

/** Throws if one of the ports is in use, also by another Bellhop of the same user, which would otherwise share it. */
export async function requireFreePorts({
  host,
  port,
  authPort,
}: Pick<Config, "host" | "port" | "authPort">): Promise<void> {
  for (const wanted of new Set([port, authPort ?? 0])) {
    // A free port will be chosen.
    if (wanted === 0) continue;
    const server = createServer().listen({ host, port: wanted });
    await once(server, "listening");
    server.close();
    await once(server, "close");
  }
}

/** Total size of these threads' pools, unless each needs its minimum. */
const POOL_SIZE_TOTAL = 10;
/** With fewer, a client's first batches of a new property would block all other reads. */
const POOL_SIZE_LEAST = 3;
/** A thread that has not answered by then hangs or is overloaded. */
const ANSWER_MS_MAX = 2_000;

/** Whether several threads can listen on one port (SO_REUSEPORT with balancing; not on macOS and Windows). */
export async function canSharePort(host: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port: 0, reusePort: true });
    await once(server, "listening");
    return true;
  } catch {
    // Other faults of the host are reported when the service listens.
    return false;
  } finally {
    server.close();
  }
}

/** Starts HTTP on several threads: the first opens the ports (0: free ones), the others join. Returns the ports. */
export async function serveTogether(
  threads: readonly ServiceThread<HttpCalls>[],
  order: Omit<HttpOrder, "poolSize">,
): Promise<Ports> {
  const { host, port, authPort } = order.config;
  const poolSize = Math.max(POOL_SIZE_LEAST, Math.ceil(POOL_SIZE_TOTAL / threads.length));
  await Promise.all(threads.map((thread) => thread.call("prepare", { ...order, poolSize })));
  // Another process may have opened a port since the start began.
  await requireFreePorts({ host, port, authPort });
  const [first, ...others] = threads;
  if (first === undefined) throw new Error("No thread can listen.");
  const ports = await first.call("listen", { port, authPort, shared: true });
  await Promise.all(others.map((thread) => thread.call("listen", ports)));
  return ports;
}
