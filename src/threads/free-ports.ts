import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../config.ts";

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
