import { BellhopClient, type BellhopClientOptions } from "#client";
import { type CommandContext, text } from "../cli/command.ts";
import { localAddress, readPartnerSettings } from "../config.ts";
import { readSandbox } from "../identity/local-clients.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import { isLoopback } from "../platform/http/networks.ts";
import { TokenFiles } from "./token-file.ts";

export const PARTNER_OPTIONS = {
  url: text("URL", "the service; BELLHOP_URL (default: the one on this machine)"),
  authUrl: text("URL", "where tokens are issued; BELLHOP_AUTH_URL (default: the service)"),
  clientId: text("ID", "the client's id; BELLHOP_CLIENT_ID"),
  clientSecret: text("SECRET", "its secret; prefer BELLHOP_CLIENT_SECRET, which other users cannot see"),
};

export const CREDENTIALS_DETAILS =
  "Without credentials, a loopback URL is used with the sandbox client of the service that has this DATA_DIR.";

type PartnerValues = Readonly<Record<keyof typeof PARTNER_OPTIONS, string | undefined>>;

/** Service addresses and credentials from options and environment. */
export type PartnerIdentity = Pick<BellhopClientOptions, "baseUrl" | "authUrl" | "clientId" | "clientSecret">;

/** Whether a URL refers to this machine. Invalid URLs are refused where they are used. */
export function isLocal(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname);
}

/** Throws UsageError that names the option or variable. */
function requireAddress(name: string, url: string | undefined): void {
  if (url === undefined) return;
  const isAddress = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isAddress) throw new UsageError(`${name} ${JSON.stringify(url)} is not an http or https address.`);
}

/** Throws UsageError if credentials are missing or an address is none. */
export async function readPartner(
  values: PartnerValues,
  { session }: CommandContext,
): Promise<PartnerIdentity> {
  const given = readPartnerSettings(session.environment);
  const url = values.url ?? given.url;
  const clientId = values.clientId ?? given.clientId;
  const clientSecret = values.clientSecret ?? given.clientSecret;
  const config = session.config();
  const baseUrl = url ?? config.baseUrl ?? localAddress(config);
  const authUrl = values.authUrl ?? given.authUrl;
  requireAddress(values.url === undefined ? "BELLHOP_URL" : "--url", url);
  requireAddress(values.authUrl === undefined ? "BELLHOP_AUTH_URL" : "--auth-url", authUrl);
  if (clientId !== undefined && clientSecret !== undefined)
    return { baseUrl, authUrl, clientId, clientSecret };
  if (clientId !== undefined || clientSecret !== undefined)
    throw new UsageError("A client id and its secret go together; one of them is missing.");
  const missing = "No credentials. Set BELLHOP_CLIENT_ID and BELLHOP_CLIENT_SECRET.";
  if (![url, authUrl].every((address) => address === undefined || isLocal(address)))
    throw new UsageError(`${missing} (The sandbox client is only used for loopback URLs.)`);
  const sandbox = await readSandbox(config.dataDir);
  if (sandbox !== undefined) return { baseUrl, authUrl, ...sandbox };
  throw new UsageError(`${missing} (${config.dataDir} has no sandbox client: see DATA_DIR.)`);
}

/** Creates a client that caches its token for later commands and shows waits. */
export function partnerClient(
  options: PartnerIdentity & Pick<BellhopClientOptions, "concurrency" | "compression">,
  { session, progress }: CommandContext,
): BellhopClient {
  return new BellhopClient({
    ...options,
    tokenStore: new TokenFiles(session.environment, progress),
    onWait: ({ reason, ms, givesUpInMs }) => progress.wait(reasonOf(reason), { ms, givesUpInMs }),
  });
}

/** Why a request waits, without the service's advice to send it again later, which the command follows itself. */
export function reasonOf(message: string): string {
  const at = message.lastIndexOf(". ") + 1;
  return at > 0 && /^ (Send|Try|Retry) .*\blater\.$/.test(message.slice(at)) ? message.slice(0, at) : message;
}
