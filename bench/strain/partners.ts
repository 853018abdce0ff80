import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Resource } from "#contract/resource.ts";
import { CLIENT_CODE } from "../record-templates.ts";
import type { Target } from "../sender.ts";
import type { ServiceProcess } from "../service-process.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** A client of the service. */
export interface Partner {
  readonly clientId: string;
  readonly token: string;
}

/** Creates a client by the CLI, with the default rate unless one is given, and requests a token over HTTP. */
export async function newPartner(
  { dataDir, port }: ServiceProcess,
  name: string,
  rate?: number,
): Promise<Partner> {
  const rates = rate === undefined ? [] : ["--rate", String(rate), "--burst", String(rate)];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [MAIN, "client", "create", "--name", name, "--grant", `${CLIENT_CODE}/*`, ...rates, "--json"],
    { env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: "" } },
  );
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string };
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const answer = await fetch(`http://127.0.0.1:${port}/api/oauth2/token`, { method: "POST", body: form });
  if (answer.status !== 200) throw new Error(`No token: ${answer.status} ${await answer.text()}`);
  return {
    clientId: client_id,
    token: ((await answer.json()) as { access_token: string }).access_token,
  };
}

/** Opens a backfill of one hotel's reservations and returns its id. */
export async function openBackfill(port: number, { token }: Partner, propertyCode: string): Promise<string> {
  const resources = [{ resource: "reservations", from: "2020-01-01", to: "2029-12-31" }];
  const answer = await fetch(`http://127.0.0.1:${port}/api/public/v1/backfills`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ clientCode: CLIENT_CODE, propertyCode, resources }),
  });
  if (answer.status !== 201) throw new Error(`No backfill: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { backfillId: string }).backfillId;
}

const BOUNDLESS = 4;
const BOUNDLESS_RATE = 100_000;

/** Partners without an effective rate limit, and their targets for reservations and inventories. */
export async function boundlessPartners(service: ServiceProcess): Promise<{
  readonly clientIds: readonly string[];
  readonly targets: readonly Target[];
  readonly pushTargets: readonly Target[];
}> {
  const partners: Partner[] = [];
  while (partners.length < BOUNDLESS)
    partners.push(await newPartner(service, `partner ${partners.length + 1}`, BOUNDLESS_RATE));
  return {
    clientIds: partners.map(({ clientId }) => clientId),
    targets: partners.map((partner) => targetOf(service.port, partner, "reservations")),
    pushTargets: partners.map((partner) => targetOf(service.port, partner, "inventories")),
  };
}

/** A partner's target for batches of a resource. */
export function targetOf(port: number, { token }: Partner, resource: Resource): Target {
  return {
    port,
    path: `/api/public/v1/${resource}`,
    headers: [`Authorization: Bearer ${token}`],
    gzip: false,
  };
}
