import type { IncomingMessage } from "node:http";
import { NetworkSet, plainAddress, readAddress } from "./networks.ts";

/** More proxies than any real deployment has. */
const HOPS_MAX = 16;

/** The address of an entry of X-Forwarded-For, which may have a port; undefined if it has none. */
function addressOfHop(hop: string): string | undefined {
  const text = hop.trim();
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return readAddress(bare) === undefined ? undefined : plainAddress(bare);
}

/**
 * Reads the client address of a request: that of the connection or, behind `trustedProxies`, the last entry of X-Forwarded-For that is not
 * a trusted proxy. Earlier entries are under the client's control.
 */
export function clientAddressReader(trustedProxies: readonly string[]): (raw: IncomingMessage) => string {
  const trusted = new NetworkSet(trustedProxies);
  return (raw) => {
    let address = plainAddress(raw.socket.remoteAddress ?? "");
    if (trusted.isEmpty || !trusted.has(address)) return address;
    // Repeated headers are joined in order.
    const hops = (raw.headersDistinct["x-forwarded-for"] ?? []).join(",").split(",");
    for (const hop of hops.reverse().slice(0, HOPS_MAX)) {
      const before = addressOfHop(hop);
      if (before === undefined) break;
      address = before;
      if (!trusted.has(address)) break;
    }
    return address;
  };
}
