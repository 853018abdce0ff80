import { includes, type Network, networkOf, readAddress } from "../platform/http/networks.ts";

/**
 * Global unicast IPv6 (RFC 4291). Excludes loopback, mapped and compatible IPv4, NAT64 (RFC 6052), unique local, link-local, site-local and
 * multicast.
 */
const GLOBAL_IPV6 = networkOf("2000::/3");

/** Decides which addresses webhooks may be sent to. */
export class AddressRules {
  readonly #allowed: readonly Network[];

  /** `allowed`: networks permitted by the operator (WEBHOOK_ALLOWED_NETWORKS), of any kind. */
  constructor(allowed: readonly string[] = []) {
    this.#allowed = allowed.map(networkOf);
  }

  /** Whether a network beyond this machine is allowed. If not, plain http is possible only to `localhost`. */
  get opensOthers(): boolean {
    return this.#allowed.some(([start]) => start.range() !== "loopback");
  }

  /** Whether an IP address may be connected to; over plain http only in allowed networks. */
  permits(text: string, scheme: "http" | "https"): boolean {
    const address = readAddress(text);
    if (address === undefined) return false;
    if (this.#allowed.some((network) => includes(network, address))) return true;
    // Special-purpose networks (IANA registries, RFC 6890) contain no public servers; some contain metadata services.
    if (scheme === "http" || address.range() !== "unicast") return false;
    return address.kind() === "ipv4" || includes(GLOBAL_IPV6, address);
  }
}
