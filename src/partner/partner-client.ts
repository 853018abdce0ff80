import { BellhopClient } from "#client";
import { text } from "../cli/command.ts";
import type { Session } from "../cli/session.ts";
import { readPartnerSettings } from "../config.ts";
import { readSandbox } from "../identity/local-clients.ts";
import { UsageError } from "../platform/errors/operator-error.ts";

export const PARTNER_OPTIONS = {
  url: text("URL", "the service; BELLHOP_URL (default: the one on this machine)"),
  authUrl: text("URL", "where tokens are issued; BELLHOP_AUTH_URL (default: the service)"),
  clientId: text("ID", "the client's id; BELLHOP_CLIENT_ID"),
  clientSecret: text("SECRET", "its secret; prefer BELLHOP_CLIENT_SECRET, which other users cannot see"),
};

export const CREDENTIALS_DETAILS =
  "Without credentials and --url, the sandbox client of the service with this DATA_DIR is used.";

type PartnerValues = Readonly<Record<keyof typeof PARTNER_OPTIONS, string | undefined>>;

/** The service and the credentials of a line and its environment. */
export interface PartnerIdentity {
  readonly baseUrl: string;
  readonly authUrl: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Throws UsageError where credentials are missing. */
export async function readPartner(values: PartnerValues, session: Session): Promise<PartnerIdentity> {
  const given = readPartnerSettings(session.environment);
  const url = values.url ?? given.url;
  const clientId = values.clientId ?? given.clientId;
  const clientSecret = values.clientSecret ?? given.clientSecret;
  const config = session.config();
  const baseUrl = url ?? config.baseUrl ?? `http://127.0.0.1:${config.port}`;
  const authUrl = values.authUrl ?? given.authUrl;
  if (clientId !== undefined && clientSecret !== undefined)
    return { baseUrl, authUrl, clientId, clientSecret };
  if (clientId !== undefined || clientSecret !== undefined)
    throw new UsageError("A client id and its secret go together; one of them is missing.");
  const sandbox = url === undefined ? await readSandbox(config.dataDir) : undefined;
  if (sandbox !== undefined) return { baseUrl, authUrl, ...sandbox };
  throw new UsageError("No credentials. Set BELLHOP_CLIENT_ID and BELLHOP_CLIENT_SECRET.");
}

export async function openPartnerClient(values: PartnerValues, session: Session): Promise<BellhopClient> {
  return new BellhopClient(await readPartner(values, session));
}
