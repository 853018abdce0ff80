import { isIP } from "node:net";
import type { AddressRules } from "./address-rules.ts";
import { WebhookInputError } from "./webhook-input-error.ts";

const URL_CHARACTERS_MAX = 2_048;
/** Below it are services that an HTTP request has no business with, such as mail. */
const PORT_FREE_FROM = 1_024;

/** What `localhost` and every name below it are (RFC 6761 section 6.3). */
const LOOPBACK = ["127.0.0.1", "::1"];

/** The addresses of a name that nobody has to be asked about; undefined for all others. */
export function knownAddresses(hostname: string): readonly string[] | undefined {
  return /(^|\.)localhost\.?$/i.test(hostname) ? LOOPBACK : undefined;
}

/** The IP address that a URL names as its host; undefined where it is a name. IPv6 without its brackets. */
export function addressInHost(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

export function schemeOf({ protocol }: URL): "http" | "https" {
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
