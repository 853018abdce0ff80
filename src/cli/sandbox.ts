import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuthInternals } from "../auth/authenticator.ts";
import { createClient, listClients, revokeClient } from "../auth/client-admin.ts";
import { TOKEN_SCOPES } from "../auth/scopes.ts";
import { SANDBOX_CLIENT_CODE } from "../config.ts";

interface SandboxClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Who makes and ends the sandbox client, in the audit. */
const WHO = "serve:sandbox";

const fileIn = (dataDir: string): string => join(dataDir, "sandbox-client.json");

/** The sandbox client of the service whose DATA_DIR this is, for a partner's command on the same machine; undefined where there is none. */
export function readSandbox(dataDir: string): Promise<SandboxClient | undefined> {
  return readKept(fileIn(dataDir));
}

async function readKept(file: string): Promise<SandboxClient | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as SandboxClient;
  } catch {
    return undefined;
  }
}

/**
 * The client for trying the service out, made at the first start and kept in DATA_DIR (readable by its owner alone).
 * Ask for it only where `Config.sandbox` says so, for whoever can reach the service could push as it.
 */
export async function openSandbox(
  internals: AuthInternals,
  dataDir: string,
): Promise<SandboxClient | undefined> {
  const admin = { internals, who: WHO };
  const file = fileIn(dataDir);
  const kept = await readKept(file);
  const known =
    kept === undefined
      ? undefined
      : (await listClients(admin)).find(({ clientId }) => clientId === kept.clientId);
  if (kept !== undefined && known !== undefined) return known.revokedAt === null ? kept : undefined;
  const { clientId, clientSecret } = await createClient(admin, {
    name: "sandbox",
    grants: [{ clientCode: SANDBOX_CLIENT_CODE, propertyCode: "*" }],
    scopes: [...TOKEN_SCOPES],
    requestRate: null,
    requestBurst: null,
    tokenBurst: null,
    replyToOrigins: [],
  });
  await writeFile(file, `${JSON.stringify({ clientId, clientSecret }, null, 2)}\n`, { mode: 0o600 });
  return { clientId, clientSecret };
}

/**
 * Ends the sandbox client that an earlier start on a laptop left in this database: its secret was printed to a terminal.
 * A later start that may have one makes another. Answers the id of the client that was revoked.
 */
export async function closeSandbox(internals: AuthInternals, dataDir: string): Promise<string | undefined> {
  const admin = { internals, who: WHO };
  const file = fileIn(dataDir);
  const kept = await readKept(file);
  if (kept === undefined) return undefined;
  const known = (await listClients(admin)).find(({ clientId }) => clientId === kept.clientId);
  if (known === undefined || known.revokedAt !== null) return undefined;
  await revokeClient(admin, kept.clientId);
  await rm(file, { force: true });
  return kept.clientId;
}
