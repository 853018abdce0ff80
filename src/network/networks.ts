import { isIP } from "node:net";

/** A network as its first address and how many bits of it count. */
export interface Network {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

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
export function bytesOfAddress(text: string): Uint8Array | undefined {
  const kind = text.includes("%") ? 0 : isIP(text);
  if (kind === 0) return undefined;
  return kind === 4 ? bytesOfIpv4(text) : bytesOfIpv6(text);
}

/** The network of a text such as `10.1.0.0/16` or `fd00:1::/48`. Throws NetworkError for any other. */
export function networkOf(text: string): Network {
  const [address = "", bits = ""] = text.split("/", 2);
  const bytes = bytesOfAddress(address);
  if (bytes === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > bytes.length * 8)
    throw new NetworkError(`"${text}" is not a network such as 10.1.0.0/16 or fd00:1::/48.`);
  return { bytes, bits: Number(bits) };
}

/** Whether the bytes of an address lie in a network; never those of the other kind of IP. */
export function includes({ bytes, bits }: Network, address: Uint8Array): boolean {
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

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** An address of a socket as people write it: one of IPv4 that a socket of IPv6 shows as `::ffff:10.0.0.1` is `10.0.0.1`. */
export function plainAddress(address: string): string {
  return MAPPED_IPV4.exec(address)?.[1] ?? address;
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

  /** False for what is no address. */
  has(address: string): boolean {
    const bytes = bytesOfAddress(plainAddress(address));
    return bytes !== undefined && this.#networks.some((network) => includes(network, bytes));
  }
}
