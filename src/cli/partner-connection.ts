import { BellhopClient, type BellhopClientOptions } from "#client";
import { readConfig, readPartnerSettings } from "../config.ts";
import { readSandbox } from "./sandbox.ts";
import { UsageError } from "./verb.ts";

/** The options of every command that speaks to a service as a partner does, for node:util's parseArgs. */
export const PARTNER_OPTIONS = {
  url: { type: "string" },
  "auth-url": { type: "string" },
  "client-id": { type: "string" },
  "client-secret": { type: "string" },
} as const;

/** The same, for a command's help. */
export const PARTNER_HELP = `  --url URL            the service, as BELLHOP_URL; by default the one of this machine, http://127.0.0.1:8080
  --auth-url URL       where tokens are issued, as BELLHOP_AUTH_URL; by default the same address
  --client-id ID       as BELLHOP_CLIENT_ID
  --client-secret S    as BELLHOP_CLIENT_SECRET, which others on this machine do not see; without id and secret, the
                       sandbox client of the service that runs from this DATA_DIR`;

/** What was given of them. */
export interface PartnerValues {
  readonly url?: string | undefined;
  readonly "auth-url"?: string | undefined;
  readonly "client-id"?: string | undefined;
  readonly "client-secret"?: string | undefined;
}

/** The address and the credentials that a line and its environment name. */
export interface PartnerIdentity {
  readonly baseUrl: string;
  readonly authUrl: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Whom a command speaks to, and as whom. Throws UsageError where that is not said. */
export async function readPartner(
  values: PartnerValues,
  environment: NodeJS.ProcessEnv,
): Promise<PartnerIdentity> {
  const given = readPartnerSettings(environment);
  const url = values.url ?? given.url;
  const clientId = values["client-id"] ?? given.clientId;
  const clientSecret = values["client-secret"] ?? given.clientSecret;
  const config = readConfig(environment);
  const baseUrl = url ?? config.baseUrl ?? `http://127.0.0.1:${config.port}`;
  const authUrl = values["auth-url"] ?? given.authUrl;
  if (clientId !== undefined && clientSecret !== undefined)
    return { baseUrl, authUrl, clientId, clientSecret };
  if (clientId !== undefined || clientSecret !== undefined)
    throw new UsageError("A client id and its secret go together; one of them is missing.");
  const sandbox = url === undefined ? await readSandbox(config.dataDir) : undefined;
  if (sandbox === undefined)
    throw new UsageError(
      "Say as whom: --client-id with BELLHOP_CLIENT_SECRET (there is no sandbox client here to take instead).",
    );
  return { baseUrl, authUrl, ...sandbox };
}

/** A client for a partner's command. */
export async function openPartnerClient(
  values: PartnerValues,
  environment: NodeJS.ProcessEnv,
  options: Partial<BellhopClientOptions> = {},
): Promise<BellhopClient> {
  return new BellhopClient({ ...options, ...(await readPartner(values, environment)) });
}
