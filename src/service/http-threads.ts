import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config.ts";
import type { HttpCalls, HttpOrder } from "./http-thread.ts";
import type { Ports } from "./serve-http.ts";
import type { ServiceThread } from "./service-thread.ts";

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
