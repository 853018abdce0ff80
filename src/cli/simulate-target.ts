import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuthAdmin } from "../auth/admin.ts";
import { createClient, listClients, updateClient } from "../auth/client-admin.ts";
import { TOKEN_SCOPES } from "../auth/scopes.ts";
import { readConfig } from "../config.ts";
import type { SimulateOptions } from "./simulate-options.ts";
import { shellContext, UsageError } from "./verb.ts";

/** Where a simulation is sent to, and as whom. */
export interface SimulationTarget {
  readonly baseUrl: string;
  readonly authUrl: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether the client was made here. */
  readonly isOwn: boolean;
}

type Credentials = Pick<SimulationTarget, "clientId" | "clientSecret">;

/** Kept in DATA_DIR for the next simulation, readable by its owner alone. */
const FILE = "simulator-client.json";
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Whether an address is of this machine. */
export function isLocal(baseUrl: string): boolean {
  return LOOPBACK.has(new URL(baseUrl).hostname);
}

/**
 * The service that is asked for: by default the one of this machine's settings. Without credentials, on this machine, the simulator
 * has a client of its own, made in the service's database as `bellhop client create` would. Throws UsageError.
 */
export async function findTarget(
  options: SimulateOptions,
  environment: NodeJS.ProcessEnv,
): Promise<SimulationTarget> {
  const { url, authUrl, clientId, clientSecret } = options;
  const config = readConfig(environment);
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const baseUrl = url ?? config.baseUrl ?? `http://${host}:${config.port}`;
  if (!URL.canParse(baseUrl)) throw new UsageError(`--url takes an address, not ${JSON.stringify(baseUrl)}.`);
  await mustAnswer(baseUrl);
  const ofTokens = authUrl ?? (url === undefined ? config.authUrl : undefined);
  if (clientId !== undefined && clientSecret !== undefined)
    return { baseUrl, authUrl: ofTokens, clientId, clientSecret, isOwn: false };
  if (clientId !== undefined || clientSecret !== undefined)
    throw new UsageError("--client-id and --client-secret go together.");
  if (url !== undefined && !isLocal(baseUrl))
    throw new UsageError(`${baseUrl} is not on this machine: --client-id and --client-secret are needed.`);
  const { clientCode } = options.simulation;
  let own: Credentials | undefined;
  await shellContext(environment).withAdmin(async (admin) => {
    own = await ownClient(admin, config.dataDir, clientCode);
    return 0;
  });
  if (own === undefined) throw new Error("The simulator's client could not be made.");
  return { baseUrl, authUrl: ofTokens, ...own, isOwn: true };
}

async function mustAnswer(baseUrl: string): Promise<void> {
  try {
    const response = await fetch(new URL("/healthz", baseUrl), { signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
  } catch (cause) {
    throw new UsageError(`No service answers at ${baseUrl}: start one (npm start), or say where (--url).`, {
      cause,
    });
  }
}

async function ownClient(admin: AuthAdmin, dataDir: string, clientCode: string): Promise<Credentials> {
  const file = join(dataDir, FILE);
  const kept = await readKept(file);
  const grant = { clientCode, propertyCode: "*" };
  const known =
    kept === undefined ? undefined : (await listClients(admin)).find((one) => one.clientId === kept.clientId);
  if (kept !== undefined && known !== undefined && known.revokedAt === null) {
    const isGranted = known.grants.some((one) => one.clientCode === clientCode && one.propertyCode === "*");
    if (!isGranted) await updateClient(admin, kept.clientId, { editGrants: { added: [grant], removed: [] } });
    return kept;
  }
  const { clientId, clientSecret } = await createClient(admin, {
    name: "simulator",
    grants: [grant],
    scopes: [...TOKEN_SCOPES],
    ...{ requestRate: null, requestBurst: null, tokenBurst: null, replyToOrigins: [] },
  });
  await writeFile(file, `${JSON.stringify({ clientId, clientSecret }, null, 2)}\n`, { mode: 0o600 });
  return { clientId, clientSecret };
}

async function readKept(file: string): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Credentials;
  } catch {
    return undefined;
  }
}
