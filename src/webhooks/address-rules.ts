import { includes, type Network, networkOf, readAddress } from "../platform/http/networks.ts";

/**
 * All of IPv6 that is given out as global unicast (RFC 4291). Loopback, mapped and compatible IPv4, NAT64 (RFC 6052), unique local,
 * link-local, site-local and multicast are outside it.
 */
const GLOBAL_IPV6 = networkOf("2000::/3");

/** Where messages may go. */
export class AddressRules {
  readonly #allowed: readonly Network[];

  /** `allowed`: networks that the operator opened, whatever lies in them (WEBHOOK_ALLOWED_NETWORKS). */
  constructor(allowed: readonly string[] = []) {
    this.#allowed = allowed.map(networkOf);
  }

  /** Whether a network beyond this machine is opened: where none is, no name but `localhost` can ever be good over plain http. */
  get opensOthers(): boolean {
    return this.#allowed.some(([start]) => start.range() !== "loopback");
  }

  /** Whether an IP address, as text, may be connected to; over plain http only in networks that the operator opened. */
  permits(text: string, scheme: "http" | "https"): boolean {
    const address = readAddress(text);
    if (address === undefined) return false;
    if (this.#allowed.some((network) => includes(network, address))) return true;
    // In the special-purpose networks (IANA registries, RFC 6890) is nobody's public server; metadata services lie in some.
    if (scheme === "http" || address.range() !== "unicast") return false;
    return address.kind() === "ipv4" || includes(GLOBAL_IPV6, address);
  }
}
