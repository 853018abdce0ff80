import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { OperatorError } from "../platform/errors/operator-error.ts";
import type { AddressRules } from "./address-rules.ts";

/** What was asked of webhooks cannot be; the message tells who asked why, and what can. */
export class WebhookInputError extends OperatorError {}

/** There is no such endpoint or message, or it is not the asker's. */
export class WebhookNotFound extends OperatorError {}

const URL_CHARACTERS_MAX = 2_048;
/** Below it are services that an HTTP request has no business with, such as mail. */
const PORT_FREE_FROM = 1_024;

/** What `localhost` and every name below it are (RFC 6761 section 6.3). */
const LOOPBACK = ["127.0.0.1", "::1"];

/** The addresses of a name that nobody has to be asked about; undefined for all others. */
function knownAddresses(hostname: string): readonly string[] | undefined {
  return /(^|\.)localhost\.?$/i.test(hostname) ? LOOPBACK : undefined;
}

/** The IP address that a URL names as its host; undefined where it is a name. IPv6 without its brackets. */
function addressInHost(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

function schemeOf({ protocol }: URL): "http" | "https" {
  return protocol === "http:" ? "http" : "https";
}

/**
 * Reads the address of an endpoint. What a name resolves to is looked at with every delivery, because it can change; an
 * address that is written out is judged at once. Throws WebhookInputError, which says what it takes.
 */
export function readEndpointUrl(text: string, rules: AddressRules): string {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null;
  if (url === null || !/^https?:\/\/[^\s]+$/i.test(text) || !/^https?:$/.test(url.protocol))
    throw new WebhookInputError(
      `url is an https address of at most ${URL_CHARACTERS_MAX} characters, such as https://partner.example/bellhop.`,
    );
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw new WebhookInputError("url has no user name, password or fragment.");
  if (url.protocol === "http:" && !rules.opensNetworks)
    throw new WebhookInputError("url is an https address: what is told is not sent in the clear.");
  const port = Number(url.port || (url.protocol === "http:" ? 80 : 443));
  if (port !== 80 && port !== 443 && port < PORT_FREE_FROM)
    throw new WebhookInputError(`The port of url is 443, 80 or at least ${PORT_FREE_FROM}.`);
  const address = addressInHost(url.hostname);
  const known = address === undefined ? knownAddresses(url.hostname) : [address];
  if (known?.every((one) => !rules.permits(one, schemeOf(url))) === true)
    throw new WebhookInputError(
      "url names an address that messages are not sent to: it has to be a public one.",
    );
  return url.href;
}

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
