import type { FaultName } from "#simulator/faults.ts";
import { hotelProfile } from "#simulator/hotel-profile.ts";
import { SIMULATED_RESOURCES } from "#simulator/simulated-record.ts";
import { simulate } from "#simulator/simulation.ts";
import { BatchSource, CLIENT_CODE } from "../../test/faults/batch-source.ts";
import { type ClientCredentials, tokenOf } from "../../test/faults/new-token.ts";
import type { ServiceProcess } from "../../test/faults/service-process.ts";
import { until } from "../../test/support/until.ts";

/** An unused port: deliveries fail and are retried. */
const NOBODY = "http://127.0.0.1:65535/hook";
const WAIT_MS_MAX = 60_000;
const BATCHES = 24;
const SEED = 7;
const SIMULATED_RECORDS = 150;

/** The settings with which a service is filled and reopened. */
export const FILLED_ENVIRONMENT = {
  KEY_ENCRYPTION_KEY: Buffer.from("bellhop, a key for test/released").toString("base64"),
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  HTTP_THREADS: "1",
  APPLY_WRITERS: "1",
} as const;

/** The content of a filled service, as needed to query it again. */
export interface Filled extends ClientCredentials {
  /** Queries that later versions must answer alike. */
  readonly paths: readonly string[];
}

class Partner {
  readonly #address: string;
  readonly #token: string;

  constructor(address: string, token: string) {
    this.#address = address;
    this.#token = token;
  }

  async ask(method: string, path: string, body?: string, headers: Readonly<Record<string, string>> = {}) {
    const answer = await fetch(`${this.#address}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    if (answer.status >= 400 && answer.status !== 409)
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return { status: answer.status, json: JSON.parse(text) as Record<string, unknown> };
  }

  /** Posts records and returns the request id. */
  async push(resource: string, records: readonly object[], headers?: Readonly<Record<string, string>>) {
    const body = JSON.stringify(records);
    return String((await this.ask("POST", `/api/public/v1/${resource}`, body, headers)).json["requestId"]);
  }
}

const HOTEL = { clientCode: "ACME", propertyCode: "PARIS01" } as const;
const HOTEL_QUERY = "clientCode=ACME&propertyCode=PARIS01";

const reservation = (reservationId: string, at: string, more: object = {}) => ({
  ...HOTEL,
  reservationId,
  lastModifiedDateTime: at,
  status: "RESERVED",
  roomStays: [{ arrivalDate: "2026-05-01", departureDate: "2026-05-04", roomTypeCode: "DLX" }],
  profiles: [{ id: "P-1", name: "A. Guest" }],
  ...more,
});

/** Fills a running service with data of every kind, and waits until all of it is applied. */
export async function fillService(service: ServiceProcess): Promise<Filled> {
  const created = await service.command(
    ...[
      "client",
      "create",
      "--name",
      "Partner",
      "--rate",
      "10000",
      "--burst",
      "10000",
      "--token-burst",
      "100",
    ],
    ...["--grant", "ACME/*", "--grant", "DEMO/*", "--grant", `${CLIENT_CODE}/*`, "--json"],
  );
  const { client_id } = JSON.parse(created) as ClientCredentials;
  const rotated = await service.command("client", "rotate-secret", client_id, "--overlap", "1h", "--json");
  const client = JSON.parse(rotated) as ClientCredentials;
  const partner = new Partner(service.address, await tokenOf(service.address, client));
  await administer(service, client);
  await sendHotel(partner);
  const source = new BatchSource(1);
  for (let sent = 0; sent < BATCHES; sent += 1) {
    const { resource, records, idempotencyKey } = source.next();
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    await partner.ask("POST", `/api/public/v1/${resource}`, `[${records.join(",")}]`, headers);
  }
  const quarantined = await pushUnusual(partner);
  const backfillId = await backfill(partner);
  await untilApplied(partner);
  await service.command("quarantine", "release", quarantined, "0");
  await service.command("quarantine", "discard", quarantined, "1");
  await until(async () => {
    const { json } = await partner.ask("GET", `/api/public/v1/requests/${quarantined}`);
    return (json["counts"] as { quarantined: number }).quarantined === 1;
  }, WAIT_MS_MAX);
  return {
    client_id,
    client_secret: client.client_secret,
    paths: await questions(partner, [quarantined], backfillId),
  };
}

async function administer(service: ServiceProcess, { client_id }: ClientCredentials): Promise<void> {
  for (const command of [
    ["setting", "set", "ACME", "timeZone", "Europe/Paris"],
    ["setting", "set", "ACME", "currency", "EUR", "--property", "PARIS01"],
    ["label", "map", "ACME", "reservations", "WALK IN", "--deducts", "yes"],
    ["operator", "create", "ada"],
    ["webhook", "create", "--client-id", client_id, "--url", NOBODY, "--event", "request.applied"],
    ["key", "rotate", "--announce", "5s"],
  ])
    await service.command(...command);
  // An open certification has stricter limits, so another client has it.
  const newcomer = await service.command(
    "client",
    "create",
    "--name",
    "Newcomer",
    "--grant",
    "NEW/*",
    "--json",
  );
  const { client_id: newcomerId } = JSON.parse(newcomer) as ClientCredentials;
  await service.command("certify", "start", "--client-id", newcomerId, "--property", "NEW/ROMA01");
}

/** The first records of each resource of an invented hotel; a whole hotel would be too large. */
async function sendHotel(partner: Partner): Promise<void> {
  const start = "2026-03-01";
  const options = {
    seed: SEED,
    properties: 1,
    days: 2,
    start,
    clientCode: "DEMO",
    horizonDays: 14,
    faults: new Set<FaultName>(),
  };
  const records = Array.from(simulate(options)).flatMap(({ waves }) => waves.flat());
  for (const resource of SIMULATED_RESOURCES) {
    const some = records.filter((record) => record.resource === resource).slice(0, SIMULATED_RECORDS);
    const body = `[${some.map(({ json }) => json.toString()).join(",")}]`;
    await partner.ask("POST", `/api/public/v1/${resource}`, body);
  }
}

/** A late version, a duplicate, an invalid record and two to be quarantined. Returns the request of the latter. */
async function pushUnusual(partner: Partner): Promise<string> {
  await partner.push("reservations", [
    reservation("R-1", "2026-02-01T10:00:00Z"),
    reservation("R-2", "2026-02-01T10:00:00Z"),
  ]);
  await partner.push("reservations", [reservation("R-1", "2026-03-01T10:00:00Z", { status: "CANCELLED" })]);
  await partner.push("reservations", [
    reservation("R-1", "2026-02-15T10:00:00Z", { status: "WALK IN" }),
    reservation("R-2", "2026-02-01T10:00:00Z"),
  ]);
  await partner.push(
    "reservations",
    [reservation("R-3", "2026-02-01T10:00:00Z"), { ...HOTEL, reservationId: "R-4" }],
    {
      prefer: "handling=lenient",
    },
  );
  return await partner.push("reservations", [
    reservation("R-5", "2099-01-01T00:00:00Z"),
    reservation("R-6", "2099-01-01T00:00:00Z"),
    reservation("R-7", "2099-01-01T00:00:00Z"),
  ]);
}

/** Creates a closed and an open backfill. Returns the closed one. */
async function backfill(partner: Partner): Promise<string> {
  const open = async (propertyCode: string) => {
    const resources = [
      { resource: "reservations", from: "2026-05-01", to: "2026-05-31", expectedRecords: 1 },
    ];
    const manifest = JSON.stringify({ clientCode: "ACME", propertyCode, resources });
    return String((await partner.ask("POST", "/api/public/v1/backfills", manifest)).json["backfillId"]);
  };
  const closed = await open("LYON01");
  await open("NICE01");
  const record = { ...reservation("B-1", "2026-01-01T00:00:00Z"), propertyCode: "LYON01" };
  await partner.push("reservations", [record], { "backfill-id": closed });
  await until(
    async () => (await partner.ask("POST", `/api/public/v1/backfills/${closed}/close`, "{}")).status === 200,
    WAIT_MS_MAX,
  );
  return closed;
}

async function untilApplied(partner: Partner): Promise<void> {
  await until(async () => {
    const { json } = await partner.ask("GET", "/api/public/v1/requests?limit=1000");
    return (json["items"] as { status: string }[]).every(({ status }) => status === "applied");
  }, WAIT_MS_MAX);
}

/** Queries for every version, at least one per kind of response. None may depend on the current time. */
async function questions(
  partner: Partner,
  requestIds: readonly string[],
  backfillId: string,
): Promise<string[]> {
  const { json } = await partner.ask("GET", "/api/public/v1/requests?limit=20");
  const newest = (json["items"] as { requestId: string }[]).map(({ requestId }) => requestId);
  return [
    ...[...requestIds, ...newest].map((id) => `/api/public/v1/requests/${id}`),
    `/api/public/v1/reservations?${HOTEL_QUERY}`,
    `/api/public/v1/reservations/history?${HOTEL_QUERY}&reservationId=R-1`,
    `/api/public/v1/reservations?clientCode=DEMO&propertyCode=${hotelProfile(SEED, 0, "DEMO").propertyCode}&limit=50`,
    `/api/public/v1/inventories?clientCode=${CLIENT_CODE}&propertyCode=P01`,
    `/api/public/v1/groups?clientCode=${CLIENT_CODE}&propertyCode=P02`,
    `/api/public/v1/backfills/${backfillId}/statement`,
    `/api/insight/v1/on-the-books?${HOTEL_QUERY}&from=2026-05-01&to=2026-05-07`,
    `/api/insight/v1/blocks?clientCode=${CLIENT_CODE}&propertyCode=P02&from=2024-01-01&to=2024-02-01`,
  ];
}
