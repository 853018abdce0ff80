import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { InputError, NotFoundError } from "../platform/errors/operator-error.ts";
import type { AddressRules } from "./address-rules.ts";

/** An invalid setting or argument; the message says why and what is valid. */
export class WebhookInputError extends InputError {}

/** The endpoint or message does not exist or belongs to another client. */
export class WebhookNotFound extends NotFoundError {}

const URL_CHARACTERS_MAX = 2_048;
/** HTTP requests to lower ports can harm services such as mail. */
const PORT_FREE_FROM = 1_024;

/** The addresses of `localhost` and its subdomains (RFC 6761 section 6.3); undefined for other names. */
function knownAddresses(hostname: string): readonly string[] | undefined {
  return /(^|\.)localhost\.?$/i.test(hostname) ? ["127.0.0.1", "::1"] : undefined;
}

/** The IP address in a URL's host, IPv6 without brackets; undefined for a name. */
function addressInHost(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

const schemeOf = ({ protocol }: URL) => (protocol === "http:" ? "http" : "https");

/** Validates an endpoint's URL. Names are resolved and checked at every delivery. Throws WebhookInputError. */
export function readEndpointUrl(text: string, rules: AddressRules): string {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null;
  if (url === null || !/^https?:\/\/[^\s]+$/i.test(text) || !/^https?:$/.test(url.protocol))
    throw new WebhookInputError(
      `url must be an https URL of at most ${URL_CHARACTERS_MAX} characters, such as https://partner.example/bellhop.`,
    );
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw new WebhookInputError("url must not have a user name, password or fragment.");
  const port = Number(url.port || (url.protocol === "http:" ? 80 : 443));
  if (port !== 80 && port !== 443 && port < PORT_FREE_FROM)
    throw new WebhookInputError(`The port of url must be 443, 80 or at least ${PORT_FREE_FROM}.`);
  const address = addressInHost(url.hostname);
  const known = address === undefined ? knownAddresses(url.hostname) : [address];
  const scheme = schemeOf(url);
  const mayBeGood =
    known?.some((one) => rules.permits(one, scheme)) ?? (scheme === "https" || rules.opensOthers);
  if (!mayBeGood)
    throw new WebhookInputError(
      scheme === "http"
        ? "url must use https. (Operators can allow http to networks in WEBHOOK_ALLOWED_NETWORKS.)"
        : "url must resolve to a public address. (Operators can allow private networks with WEBHOOK_ALLOWED_NETWORKS.)",
    );
  return url.href;
}

/** Resolves a host name. Rejects if it has no addresses. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

const QUERY_MS = 2_000;
const ASK_TRIES = 2;
/** Further addresses of a name are ignored. */
const ADDRESSES_MAX = 16;

/** Queries name servers directly: the operating system's lookup would block one of the process's four threads. Ignores the hosts file. */
export const resolveByDns: ResolveHost = async (hostname, signal) => {
  const known = knownAddresses(hostname);
  if (known !== undefined) return known;
  const resolver = new Resolver({ timeout: QUERY_MS, tries: ASK_TRIES });
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

/** An attempt that did not reach its receiver; the message is one word for the delivery log. */
export class SendFailure extends Error {}

/**
 * The permitted addresses of a URL's host. The connection uses these, so that a second DNS response cannot redirect it. Throws SendFailure.
 */
export async function permittedAddresses(
  url: URL,
  rules: AddressRules,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const written = addressInHost(url.hostname);
  const resolved = written === undefined ? resolve(url.hostname, signal) : [written];
  const found = await Promise.resolve(resolved).catch((cause: unknown) => {
    throw new SendFailure("NameNotResolved", { cause });
  });
  if (found.length === 0) throw new SendFailure("NameNotResolved");
  const permitted = found.slice(0, ADDRESSES_MAX).filter((address) => rules.permits(address, schemeOf(url)));
  if (permitted.length === 0) throw new SendFailure("AddressRefused");
  return permitted;
}
