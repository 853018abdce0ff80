import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";
import { untilFound } from "../support/until.ts";
import { type Arms, FOREIGN_GUEST, GUEST, PROPERTIES } from "./shot.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** A client and its secret. */
export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

const guestOf = (name: string) => ({
  profiles: [{ id: "1", name, profileType: "Guest" }],
  cancellationReason: name,
});

/**
 * Makes two clients as an operator makes them, lets each push, and waits until it is applied. Answers what there is to
 * shoot with, and the ids of what was pushed.
 */
export async function takeArms(
  address: string,
  databaseUrl: string,
): Promise<{ arms: Arms; pushed: string[] }> {
  const own = await createClient(
    databaseUrl,
    PROPERTIES.map((property) => `ACME/${property}`),
  );
  const other = await createClient(databaseUrl, ["CHAIN/*"]);
  const token = await takeToken(address, own);
  const foreignToken = await takeToken(address, other);
  const records = (codes: object, guest: string): [string, LooseRecord[]][] => [
    [
      "reservations",
      [1, 2, 3].map((n) => reservationRecord({ ...codes, reservationId: `R-${n}`, ...guestOf(guest) })),
    ],
    ["groups", [1, 2, 3].map((n) => groupRecord({ ...codes, groupCode: `G-${n}`, salesPerson: guest }))],
    [
      "inventories",
      [10, 11, 12].map((day) => inventoryRecord({ ...codes, occupancyDate: `2026-03-${day}` })),
    ],
  ];
  const pushed: string[] = [];
  for (const [resource, batch] of records({}, GUEST))
    pushed.push(await push(address, token, resource, batch));
  const foreign = records({ clientCode: "CHAIN", propertyCode: "ZRH01" }, FOREIGN_GUEST);
  for (const [resource, batch] of foreign) pushed.push(await push(address, foreignToken, resource, batch));
  const [requestId = "", , , foreignRequestId = ""] = pushed;
  const arms: Arms = {
    ...own,
    token,
    foreignToken,
    requestId,
    foreignRequestId,
    writerToken: await takeToken(address, own, "reservations:write"),
    pages: await firstPages(address, token),
  };
  return { arms, pushed };
}

/** Makes a client as an operator makes one, with rates that no campaign meets; of the usual scopes where none are named. */
export async function createClient(
  databaseUrl: string,
  grants: readonly string[],
  scopes: readonly string[] = [],
): Promise<Client> {
  const granted = [
    ...grants.flatMap((grant) => ["--grant", grant]),
    ...scopes.flatMap((scope) => ["--scope", scope]),
  ];
  const rates = ["--rate", "100000", "--burst", "100000", "--token-burst", "1000"];
  const args = ["client", "create", "--name", "Fire", ...rates, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, ...granted], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string };
  return { clientId: client_id, clientSecret: client_secret };
}

export async function takeToken(
  address: string,
  { clientId, clientSecret }: Client,
  scope?: string,
): Promise<string> {
  const response = await fetch(`${address}/api/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      ...(scope === undefined ? {} : { scope }),
    }),
  });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

/** Pushes a batch and waits until it is applied; answers its id. */
export async function push(
  address: string,
  token: string,
  resource: string,
  records: readonly LooseRecord[],
): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const url = `${address}/api/public/v1/${resource}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(records) });
  if (response.status !== 202) throw new Error(`not accepted: ${response.status} ${await response.text()}`);
  const { requestId } = (await response.json()) as { requestId: string };
  return await untilFound(async () => {
    const asked = await fetch(`${address}/api/public/v1/requests/${requestId}`, { headers });
    return ((await asked.json()) as { status: string }).status === "applied" ? requestId : undefined;
  });
}

/** Lists with the cursor of their second page. */
async function firstPages(address: string, token: string): Promise<{ address: string; cursor: string }[]> {
  const property = `clientCode=ACME&propertyCode=${PROPERTIES[0]}`;
  const lists = ["reservations", "groups", "inventories"].map((name) => `/api/public/v1/${name}?${property}`);
  return await Promise.all(
    [...lists, "/api/public/v1/requests"].map(async (list) => {
      const url = `${address}${list}${list.includes("?") ? "&" : "?"}limit=1`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      const { nextCursor } = (await answer.json()) as { nextCursor: string };
      return { address: list, cursor: nextCursor };
    }),
  );
}
