import { includes, type Network, networkOf, readAddress } from "../platform/http/networks.ts";

/**
 * The special-purpose networks of IPv4 (IANA registry, RFC 6890 and its successors): nothing in them is somebody's public
 * server. Metadata services lie in some: 169.254.169.254, 100.100.100.200, 192.0.0.192.
 */
const SPECIAL_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
].map(networkOf);

/**
 * IPv6 the other way round: only 2000::/3 is given out as global unicast (RFC 4291), so loopback, mapped and compatible
 * IPv4, NAT64 (RFC 6052), unique local, link-local, site-local and multicast are all outside it. Within it these lead
 * elsewhere: protocol assignments with Teredo, documentation, 6to4 (RFC 3056).
 */
const GLOBAL_IPV6 = networkOf("2000::/3");
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(networkOf);

/** Where messages may go. */
export class AddressRules {
  readonly #allowed: readonly Network[];

  /** `allowed`: networks that the operator opened, whatever lies in them (WEBHOOK_ALLOWED_NETWORKS). */
  constructor(allowed: readonly string[] = []) {
    this.#allowed = allowed.map(networkOf);
  }

  /** Whether the operator opened any network at all: where none is, no address over plain http can ever be good. */
  get opensNetworks(): boolean {
    return this.#allowed.length > 0;
  }

  /** Whether an IP address, as text, may be connected to; over plain http only in networks that the operator opened. */
  permits(text: string, scheme: "http" | "https"): boolean {
    const address = readAddress(text);
    if (address === undefined) return false;
    if (this.#allowed.some((network) => includes(network, address))) return true;
    if (scheme === "http") return false;
    if (address.kind() === "ipv4") return !SPECIAL_IPV4.some((network) => includes(network, address));
    return includes(GLOBAL_IPV6, address) && !SPECIAL_IPV6.some((network) => includes(network, address));
  }
}
