import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config.ts";
import type { Role } from "../platform/db/coordination.ts";
import type { MainCalls, ServiceThread, ThreadCalls } from "../platform/runtime/service-thread.ts";
import {
  createProcessMetrics,
  type MetricValues,
  renderMetrics,
  sumMetrics,
} from "../platform/telemetry/metrics.ts";
import type { HttpCalls, HttpOrder } from "./http-thread.ts";
import type { Ports } from "./serve-http.ts";

/** A thread, or a part of the main one, as far as the whole process can be asked about it. What a thread does not answer in time rejects. */
interface ProcessPart {
  /** Of a thread but the main one. */
  readonly name?: string;
  /** Why it cannot do now what the role is for; undefined when it can, or has no part in it. */
  blockedReason?(role: Role): Promise<string | undefined>;
  /** Values of its metrics. */
  metrics(): Promise<readonly MetricValues[]>;
}

/** What the process says of itself as a whole, whichever of its threads is asked: each of its parts is asked in turn. */
export class WholeProcess {
  readonly #parts: ProcessPart[] = [];
  readonly #lastRead = new Map<ProcessPart, readonly MetricValues[]>();
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
    const { registry, ready, unresponsiveThreads } = this.#metrics;
    let unresponsive = 0;
    const ofParts = this.#parts.map(async (part) => {
      const read = await part.metrics().catch(() => undefined);
      if (read === undefined) unresponsive += 1;
      else this.#lastRead.set(part, read);
      // Without what a thread has counted, sums would fall and rise again.
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

  /** A thread, which is asked about these roles: all of a role have to be able, as the next connection may come to any. */
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
 * What balancers ask about: whether requests can be taken, and of a node that takes none whether it applies. What is accepted here
 * another node may apply.
 */
function balancedRoles(roles: readonly Role[]): readonly Role[] {
  const serving = roles.filter((role) => role !== "apply");
  return serving.length === 0 ? roles : serving;
}

/** Throws when anybody listens on one of the ports, another Bellhop of the same user too: that one would share it unasked. */
export async function requireFreePorts({
  host,
  port,
  authPort,
}: Pick<Config, "host" | "port" | "authPort">): Promise<void> {
  for (const wanted of new Set([port, authPort ?? 0])) {
    // A free one is taken.
    if (wanted === 0) continue;
    const server = createServer().listen({ host, port: wanted });
    await once(server, "listening");
    server.close();
    await once(server, "close");
  }
}

/** Connections that the pools of all these threads hold at most, as far as each has its least. */
const POOL_SIZE_TOTAL = 10;
/** Fewer, and a client's first batches of a new property would keep everybody else from reading. */
const POOL_SIZE_LEAST = 3;
/** A thread that has not answered by then hangs, or has more to do than it can. */
const ANSWER_MS_MAX = 2_000;

/** Whether several threads can listen on one port here (SO_REUSEPORT with balancing; macOS and Windows cannot). */
export async function canSharePort(host: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port: 0, reusePort: true });
    await once(server, "listening");
    return true;
  } catch {
    // Any other fault of the host surfaces when the service listens on it.
    return false;
  } finally {
    server.close();
  }
}

/** Has threads serve HTTP together: the first takes the ports, free ones where they are 0, the others join it. Answers the ports. */
export async function serveTogether(
  threads: readonly ServiceThread<HttpCalls>[],
  order: Omit<HttpOrder, "poolSize">,
): Promise<Ports> {
  const { host, port, authPort } = order.config;
  const poolSize = Math.max(POOL_SIZE_LEAST, Math.ceil(POOL_SIZE_TOTAL / threads.length));
  await Promise.all(threads.map((thread) => thread.call("prepare", { ...order, poolSize })));
  // Another process may have taken a port since the start began.
  await requireFreePorts({ host, port, authPort });
  const [first, ...others] = threads;
  if (first === undefined) throw new Error("There is no thread to listen.");
  const ports = await first.call("listen", { port, authPort, shared: true });
  await Promise.all(others.map((thread) => thread.call("listen", ports)));
  return ports;
}
