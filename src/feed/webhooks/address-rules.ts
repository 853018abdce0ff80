import { isIP } from "node:net";

/** A network as its first address and how many bits of it count. */
interface Network {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

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

/** A list of networks cannot be read; the message says which entry and what it takes. */
export class NetworkError extends Error {}

function bytesOfIpv4(text: string): Uint8Array {
  return Uint8Array.from(text.split(".").map(Number));
}

function bytesOfIpv6(text: string): Uint8Array {
  // The last two groups may be written as an IPv4 address (RFC 4291 section 2.2).
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const tail = dotted === null ? undefined : bytesOfIpv4(dotted[2] ?? "");
  const groupsText =
    tail === undefined
      ? text
      : `${dotted?.[1] ?? ""}${[0, 2].map((at) => (((tail[at] ?? 0) << 8) | (tail[at + 1] ?? 0)).toString(16)).join(":")}`;
  const [head = "", rest] = groupsText.split("::", 2);
  const groups = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = rest === undefined ? [] : groups(rest);
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The 4 or 16 bytes of an IP address; undefined for what is none, one with a zone among it. */
function bytesOfAddress(text: string): Uint8Array | undefined {
  const kind = text.includes("%") ? 0 : isIP(text);
  if (kind === 0) return undefined;
  return kind === 4 ? bytesOfIpv4(text) : bytesOfIpv6(text);
}

function networkOf(text: string): Network {
  const [address = "", bits = ""] = text.split("/", 2);
  const bytes = bytesOfAddress(address);
  if (bytes === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > bytes.length * 8)
    throw new NetworkError(`"${text}" is not a network such as 10.1.0.0/16 or fd00:1::/48.`);
  return { bytes, bits: Number(bits) };
}

function includes({ bytes, bits }: Network, address: Uint8Array): boolean {
  if (address.length !== bytes.length) return false;
  for (let at = 0, left = bits; left > 0; at += 1, left -= 8) {
    const mask = left >= 8 ? 0xff : (0xff << (8 - left)) & 0xff;
    if (((address[at] ?? 0) & mask) !== ((bytes[at] ?? 0) & mask)) return false;
  }
  return true;
}

/** Reads `10.1.0.0/16, fd00:1::/48`; empty for none. Throws NetworkError for the first that is not a network. */
export function readNetworks(text: string): readonly string[] {
  const networks = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  for (const network of networks) networkOf(network);
  return networks;
}

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
  permits(address: string, scheme: "http" | "https"): boolean {
    const bytes = bytesOfAddress(address);
    if (bytes === undefined) return false;
    if (this.#allowed.some((network) => includes(network, bytes))) return true;
    if (scheme === "http") return false;
    if (bytes.length === 4) return !SPECIAL_IPV4.some((network) => includes(network, bytes));
    return includes(GLOBAL_IPV6, bytes) && !SPECIAL_IPV6.some((network) => includes(network, bytes));
  }
}
