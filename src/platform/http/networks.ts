import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: an address and the length of the prefix. */
export type Network = readonly [address: Address, bits: number];

/** Whether a host name or address (IPv6 with or without brackets) is loopback. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/.test(host);
}

/** A list of networks is invalid; the message names the entry and the expected form. */
export class NetworkError extends Error {}

/** Reads an IP address; undefined for any other text, including addresses with a zone (`%eth0`). */
export function readAddress(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes("%") ? undefined : ipaddr.parse(text);
}

/** Reads a network such as `10.1.0.0/16` or `fd00:1::/48`. Throws NetworkError. */
export function networkOf(text: string): Network {
  const [start = "", bits = ""] = text.split("/", 2);
  const address = readAddress(start);
  if (address === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > address.toByteArray().length * 8)
    throw new NetworkError(`"${text}" is not a network such as 10.1.0.0/16 or fd00:1::/48.`);
  return [address, Number(bits)];
}

/** Whether a network includes an address of the same IP version. */
export function includes([start, bits]: Network, address: Address): boolean {
  return address.kind() === start.kind() && address.match(start, bits);
}

/** Reads a list such as `10.1.0.0/16, fd00:1::/48`, which may be empty. Throws NetworkError. */
export function readNetworks(text: string): readonly string[] {
  const networks = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  for (const network of networks) networkOf(network);
  return networks;
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Converts an IPv4-mapped IPv6 address such as `::ffff:10.0.0.1` to `10.0.0.1`; returns any other text unchanged. */
export function plainAddress(text: string): string {
  // Most addresses are of IPv4, and each request has one.
  if (!text.includes(":")) return text;
  const address = readAddress(text);
  const plain = address === undefined ? undefined : unmapped(address);
  return plain?.kind() === "ipv4" ? plain.toString() : text;
}

/** The networks by which an address is rate limited. For IPv4 both are the address itself. */
export interface Origin {
  /** The /64 of an IPv6 address. */
  readonly subnet: string;
  /** The /48 of an IPv6 address, which shares limits of memory and concurrency. */
  readonly site: string;
  /** The number of the subnet within its site, 0 to 65,535. */
  readonly subnetNumber: number;
}

/** An IPv6 host can use 2^64 addresses and a provider's customer 2^80, so limits per address would be ineffective. */
export function originOf(text: string): Origin {
  const address = readAddress(text);
  const plain = address === undefined ? text : unmapped(address);
  if (!(plain instanceof ipaddr.IPv6)) {
    const itself = plain.toString();
    return { subnet: itself, site: itself, subnetNumber: 0 };
  }
  const groups = plain.parts.slice(0, 4).map((part) => part.toString(16));
  return {
    subnet: `${groups.join(":")}::/64`,
    site: `${groups.slice(0, 3).join(":")}::/48`,
    subnetNumber: plain.parts[3] ?? 0,
  };
}

/** A set of networks. */
export class NetworkSet {
  readonly #networks: readonly Network[];

  /** `networks`: from `readNetworks`. */
  constructor(networks: readonly string[]) {
    this.#networks = networks.map(networkOf);
  }

  get isEmpty(): boolean {
    return this.#networks.length === 0;
  }

  /** False for a text that is not an address. */
  has(text: string): boolean {
    const address = readAddress(text);
    if (address === undefined) return false;
    const plain = unmapped(address);
    return this.#networks.some((network) => includes(network, plain));
  }
}
