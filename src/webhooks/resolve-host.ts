import { Resolver } from "node:dns/promises";
import type { AddressRules } from "./address-rules.ts";
import { addressInHost, knownAddresses, schemeOf } from "./endpoint-address.ts";

/** Finds the IP addresses of a host's name. Rejects when there are none. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

const ASK_MS = 2_000;
const ASK_TRIES = 2;
/** A name may have any number of addresses; more are not looked at. */
const ADDRESSES_MAX = 16;

/**
 * Asks the name servers, not the operating system: that would ask by one of four threads that everything else of this process
 * shares, and wait on it for as long as a name server says nothing. The hosts file is not read; `localhost` is what it is (RFC 6761).
 */
export const resolveByDns: ResolveHost = async (hostname, signal) => {
  const known = knownAddresses(hostname);
  if (known !== undefined) return known;
  const resolver = new Resolver({ timeout: ASK_MS, tries: ASK_TRIES });
  const giveUp = () => resolver.cancel();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [ipv4, ipv6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length === 0 && ipv4.status === "rejected") throw ipv4.reason;
    return addresses;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
};

/** A try that never reached its receiver; `reason` is one word for the delivery log. */
export class SendFailure extends Error {
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}

/**
 * The addresses of a URL's host that may be connected to, asked for once: who connects uses these and asks nobody again, so
 * that a name cannot lead elsewhere the second time. Throws SendFailure.
 */
export async function permittedAddresses(
  url: URL,
  rules: AddressRules,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const written = addressInHost(url.hostname);
  const found =
    written === undefined
      ? await resolve(url.hostname, signal).catch((cause: unknown) => {
          throw new SendFailure("NameNotResolved", { cause });
        })
      : [written];
  if (found.length === 0) throw new SendFailure("NameNotResolved");
  const permitted = found.slice(0, ADDRESSES_MAX).filter((address) => rules.permits(address, schemeOf(url)));
  if (permitted.length === 0) throw new SendFailure("AddressRefused");
  return permitted;
}
