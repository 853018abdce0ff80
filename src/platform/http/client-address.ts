import type { IncomingMessage } from "node:http";
import { NetworkSet, plainAddress, readAddress } from "./networks.ts";

/** More proxies than stand in front of anything; a longer list was made by somebody who wants it to be long. */
const HOPS_MAX = 16;

/** The address of one entry of X-Forwarded-For, which some proxies write with a port; undefined for what is none. */
function addressOfHop(hop: string): string | undefined {
  const text = hop.trim();
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return readAddress(bare) === undefined ? undefined : plainAddress(bare);
}

/**
 * Reads a request's client address: the connection's, or behind `trustedProxies` the last X-Forwarded-For entry that is not a
 * trusted proxy. Entries before it were written by the client and can be anything.
 */
export function clientAddressReader(trustedProxies: readonly string[]): (raw: IncomingMessage) => string {
  const trusted = new NetworkSet(trustedProxies);
  return (raw) => {
    let address = plainAddress(raw.socket.remoteAddress ?? "");
    if (trusted.isEmpty || !trusted.has(address)) return address;
    // Of several headers of that name the last was added last.
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
