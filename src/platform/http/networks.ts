import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An IP address that was read. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: an address in it, and how many of its first bits count. */
export type Network = readonly [address: Address, bits: number];

/** Whether a host is this machine's own: a name, or an address, of IPv6 with or without its brackets. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/.test(host);
}

/** A list of networks cannot be read; the message names the entry and shows the form that it needs. */
export class NetworkError extends Error {}

/** Reads an IP address; undefined for any other text. A zone (`%eth0`) is refused: it has a meaning on one machine only. */
export function readAddress(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes("%") ? undefined : ipaddr.parse(text);
}

/** The network of a text such as `10.1.0.0/16` or `fd00:1::/48`. Throws NetworkError for any other. */
export function networkOf(text: string): Network {
  const [start = "", bits = ""] = text.split("/", 2);
  const address = readAddress(start);
  if (address === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > address.toByteArray().length * 8)
    throw new NetworkError(`"${text}" is not a network such as 10.1.0.0/16 or fd00:1::/48.`);
  return [address, Number(bits)];
}

/** Whether an address lies in a network. One of IPv4 never lies in a network of IPv6, nor the other way round. */
export function includes([start, bits]: Network, address: Address): boolean {
  return address.kind() === start.kind() && address.match(start, bits);
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

/** An address of IPv4 that a socket of IPv6 shows as `::ffff:10.0.0.1` as the address of IPv4 that it is; any other as it is. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** The text of a socket's address: `10.0.0.1` for `::ffff:10.0.0.1` in any spelling, every other text as it is. */
export function plainAddress(text: string): string {
  // Most addresses are of IPv4, and each request has one.
  if (!text.includes(":")) return text;
  const address = readAddress(text);
  const plain = address === undefined ? undefined : unmapped(address);
  return plain?.kind() === "ipv4" ? plain.toString() : text;
}

/** The networks that an address counts for, where what is limited is limited by who sends it; of IPv4 both are the address itself. */
export interface Origin {
  /** The /64 of an address of IPv6; any other text as it is. */
  readonly subnet: string;
  /** The /48 of an address of IPv6, which is what shares of memory and of time in flight are given to. */
  readonly site: string;
  /** Which of the 65,536 subnets of its site it is. */
  readonly subnetNumber: number;
}

/** A host of IPv6 has 2^64 addresses to choose from and a customer of a provider 2^80, so that limits by address limit nothing. */
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

/** Networks, to ask whether an address lies in one of them. */
export class NetworkSet {
  readonly #networks: readonly Network[];

  /** As `readNetworks` answers them. */
  constructor(networks: readonly string[]) {
    this.#networks = networks.map(networkOf);
  }

  get isEmpty(): boolean {
    return this.#networks.length === 0;
  }

  /** False for a text that is no address. */
  has(text: string): boolean {
    const address = readAddress(text);
    if (address === undefined) return false;
    const plain = unmapped(address);
    return this.#networks.some((network) => includes(network, plain));
  }
}
