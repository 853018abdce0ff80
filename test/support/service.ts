import { Writable } from "node:stream";
import type { Pool } from "pg";
import { type Config, readConfig } from "../../src/config.ts";
import { type ClientSettings, createClient } from "../../src/identity/client-admin.ts";
import { createLoggerTo } from "../../src/platform/telemetry/log.ts";
import { type Service, startService } from "../../src/service/service.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** What a test changes of the configuration; `limits` one by one. */
export type ConfigOverrides = Partial<Omit<Config, "limits">> & {
  readonly limits?: Partial<Config["limits"]>;
};

/** An answer, its body read as bytes, so that a body of zero bytes can be distinguished from an empty text. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; throws when it is none. */
  json(): Record<string, unknown>;
}

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** A token of this client, the same one each time; with `scope` a new one of that scope. */
  token(scope?: string): Promise<string>;
}

export interface RequestOptions {
  /** Whose token goes with it: by default the service's first client; `null` sends none. */
  readonly as?: TestClient | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | object | ReadableStream<Uint8Array>;
}

/** The real service in this process, on a database of its own, with one client that may push and read `ACME/*`. */
export interface TestService {
  readonly address: string;
  readonly config: Config;
  readonly service: Service;
  readonly database: TestDatabase;
  /** The test's own connections to the service's database. */
  readonly pool: Pool;
  /** The first client: every scope, `ACME/*`, and a rate that no test meets by accident. */
  readonly client: TestClient;
  /** A token of the first client, the same one each time. */
  token(): Promise<string>;
  /** Another client; what is left out is as the first client's. */
  newClient(settings?: Partial<ClientSettings>): Promise<TestClient>;
  /** Sends a request; an object as the body goes as JSON. */
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Posts to `/api/public/v1/<resource>` as application/json. */
  post(resource: string, body: RequestOptions["body"], options?: RequestOptions): Promise<Answer>;
  get(path: string, options?: RequestOptions): Promise<Answer>;
  /** Every line of the log so far, as it was written. */
  logLines(): readonly string[];
  /** Stops the service; its database is dropped unless a test failed or it was given. */
  stop(): Promise<void>;
}

/**
 * Starts the service as `bellhop serve` does, by DATABASE_URL, on a free port. Pass `database` to start a second node,
 * or the same one again, on a database that the caller drops.
 */
export async function startTestService(
  overrides: ConfigOverrides = {},
  options: { readonly database?: TestDatabase } = {},
): Promise<TestService> {
  const database = options.database ?? (await createTestDatabase());
  const config = testConfig(database.url, overrides);
  const lines: string[] = [];
  const collect = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(...String(chunk).trimEnd().split("\n"));
      done();
    },
  });
  const service = await startService(config, createLoggerTo(collect, config.logLevel));
  const newClient = (settings: Partial<ClientSettings> = {}) => createTestClient(service, settings);
  const client = await newClient();

  async function send(method: string, path: string, request: RequestOptions = {}): Promise<Answer> {
    const sender = request.as === undefined ? client : request.as;
    const { body } = request;
    const plain = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
    const response = await fetch(new URL(path, service.address), {
      method,
      headers: {
        ...(sender === null ? {} : { authorization: `Bearer ${await sender.token()}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...request.headers,
      },
      ...(body === undefined
        ? {}
        : { body: plain ? (body as NonNullable<RequestInit["body"]>) : JSON.stringify(body) }),
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    } as RequestInit);
    return await answerOf(response);
  }

  return {
    address: service.address,
    config,
    service,
    database,
    pool: database.pool,
    client,
    token: () => client.token(),
    newClient,
    send,
    post: (resource, body, request = {}) =>
      send("POST", `/api/public/v1/${resource}`, { ...request, ...(body === undefined ? {} : { body }) }),
    get: (path, request = {}) => send("GET", path, request),
    logLines: () => lines,
    async stop() {
      await service.stop();
      if (options.database === undefined) await database.drop();
    },
  };
}

function testConfig(databaseUrl: string, overrides: ConfigOverrides): Config {
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    HTTP_THREADS: "1",
    APPLY_WRITERS: "1",
  });
  return { ...config, ...overrides, limits: { ...config.limits, ...overrides.limits } };
}

async function answerOf(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString("utf8");
  const { status, headers } = response;
  return { status, headers, bytes, text, json: () => JSON.parse(text) as Record<string, unknown> };
}

async function createTestClient(service: Service, settings: Partial<ClientSettings>): Promise<TestClient> {
  const { clientId, clientSecret } = await createClient(
    { internals: service.authenticator.internals, who: "cli:test" },
    {
      name: "Partner",
      scopes: ["inventories:write", "reservations:write", "groups:write", "read", "insight:read", "webhooks"],
      grants: [{ clientCode: "ACME", propertyCode: "*" }],
      requestRate: 100_000,
      requestBurst: 100_000,
      tokenBurst: 1000,
      replyToOrigins: [],
      ...settings,
    },
  );
  const take = async (scope?: string) => {
    const response = await fetch(new URL("/api/oauth2/token", service.authAddress), {
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
  };
  let kept: Promise<string> | undefined;
  return {
    clientId,
    clientSecret,
    token: (scope) => {
      if (scope !== undefined) return take(scope);
      kept ??= take();
      return kept;
    },
  };
}
