import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SANDBOX_CLIENT_CODE } from "../config.ts";
import { readOwnFile, replaceOwnFile } from "../platform/runtime/own-files.ts";
import type { AuthAdmin } from "./admin.ts";
import type { AuthInternals } from "./authenticator.ts";
import { type ClientSummary, createClient, listClients, revokeClient, updateClient } from "./client-admin.ts";
import { TOKEN_SCOPES } from "./scopes.ts";

/** Credentials stored in DATA_DIR for commands on this machine, readable only by their owner. */
export interface LocalClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

const WHO = "serve:sandbox";
/** Scripts, Postman and a restarted application take a token at each run: developers must not wait for the next one. */
const LOCAL_TOKEN_BURST = 1_000;

export const sandboxFile = (dataDir: string): string => join(dataDir, "sandbox-client.json");
const simulatorFile = (dataDir: string): string => join(dataDir, "simulator-client.json");

async function readKept(file: string): Promise<LocalClient | undefined> {
  try {
    return JSON.parse((await readOwnFile(file)) ?? "") as LocalClient;
  } catch {
    return undefined;
  }
}

async function findKept(
  admin: AuthAdmin,
  file: string,
): Promise<{ readonly kept: LocalClient; readonly known: ClientSummary } | undefined> {
  const kept = await readKept(file);
  if (kept === undefined) return undefined;
  const known = (await listClients(admin)).find(({ clientId }) => clientId === kept.clientId);
  return known === undefined ? undefined : { kept, known };
}

async function createKept(
  admin: AuthAdmin,
  file: string,
  name: string,
  clientCode: string,
): Promise<LocalClient> {
  const { clientId, clientSecret } = await createClient(admin, {
    name,
    grants: [{ clientCode, propertyCode: "*" }],
    scopes: [...TOKEN_SCOPES],
    requestRate: null,
    requestBurst: null,
    tokenBurst: LOCAL_TOKEN_BURST,
    replyToOrigins: [],
  });
  await replaceOwnFile(file, `${JSON.stringify({ clientId, clientSecret }, null, 2)}\n`);
  return { clientId, clientSecret };
}

/** The sandbox client of the service with this DATA_DIR, for partner commands on the same machine. */
export function readSandbox(dataDir: string): Promise<LocalClient | undefined> {
  return readKept(sandboxFile(dataDir));
}

/**
 * The sandbox client, created at the first start; undefined once it is revoked. Only used if `Config.sandbox` allows it, because its secret
 * is printed to the terminal.
 */
export async function openSandbox(
  internals: AuthInternals,
  dataDir: string,
): Promise<LocalClient | undefined> {
  const admin = { internals, who: WHO };
  const file = sandboxFile(dataDir);
  const found = await findKept(admin, file);
  if (found !== undefined) return found.known.revokedAt === null ? found.kept : undefined;
  return createKept(admin, file, "sandbox", SANDBOX_CLIENT_CODE);
}

/** Revokes the sandbox client of an earlier start and returns its id. A later start with a sandbox creates another. */
export async function closeSandbox(internals: AuthInternals, dataDir: string): Promise<string | undefined> {
  const admin = { internals, who: WHO };
  const file = sandboxFile(dataDir);
  const found = await findKept(admin, file);
  if (found === undefined || found.known.revokedAt !== null) return undefined;
  await revokeClient(admin, found.kept.clientId);
  await rm(file, { force: true });
  return found.kept.clientId;
}

/** The simulator's client, with a grant for all properties of `clientCode`. */
export async function openSimulatorClient(
  admin: AuthAdmin,
  dataDir: string,
  clientCode: string,
): Promise<LocalClient> {
  const file = simulatorFile(dataDir);
  const found = await findKept(admin, file);
  if (found === undefined || found.known.revokedAt !== null)
    return createKept(admin, file, "simulator", clientCode);
  const { kept, known } = found;
  const isGranted = known.grants.some((one) => one.clientCode === clientCode && one.propertyCode === "*");
  const added = [{ clientCode, propertyCode: "*" }];
  if (!isGranted) await updateClient(admin, kept.clientId, { editGrants: { added, removed: [] } });
  return kept;
}
